import Media
import TestSupport
import Testing

@testable import RTP
@testable import WebRTC

/// Calls in which this side makes the offer: a screen, a camera and sound.
@Suite struct SessionOfferTests {
    private static let locals = [
        LocalStream(track: "screen", codecs: [[.video(.vp8), .video(.av1)]]),
        LocalStream(track: "camera", codecs: [[.video(.vp8)]]), LocalStream(track: "sound", codecs: [[.opus]]),
    ]
    private let offer = SessionOffer(Self.locals)

    /// What an answerer makes of the offer; lines of it can be replaced.
    private struct Answer {
        var lines: [String]

        init(to offer: SessionDescription) {
            lines = "\(offer)".split(separator: "\r\n").map(String.init).filter { line in
                !["a=ssrc", "a=msid", "a=candidate", "a=end-of"].contains { line.hasPrefix($0) }
            }
            for (sent, received) in [
                ("a=sendonly", "a=recvonly"), ("a=setup:actpass", "a=setup:active"),
                ("a=ice-ufrag:efgh", "a=ice-ufrag:wxyz"),
            ] {
                lines = lines.map { $0 == sent ? received : $0 }
            }
        }

        /// With each of the lines that begin so replaced in one description, or before all if that is nil.
        func replacing(_ beginning: String, in section: Int? = nil, with other: String...) -> Answer {
            var (answer, current) = (self, -1)
            answer.lines = lines.flatMap { line in
                if line.hasPrefix("m=") { current += 1 }
                return current == section ?? -1 && line.hasPrefix(beginning) ? other : [line]
            }
            return answer
        }

        func everywhere(_ line: String, _ other: String) -> Answer {
            var answer = self
            answer.lines = lines.map { $0.hasPrefix(line) ? other : $0 }
            return answer
        }

        var text: String { lines.map { $0 + "\r\n" }.joined() }
    }

    private func bundle() -> (bundle: StreamBundle, histories: [PacketHistory]) {
        var random = SplitMix64(seed: 1)
        let histories = offer.streams.map { stream in
            switch stream.formats[0].codec {
            case .video(let codec):
                PacketHistory(codec: codec, maximumPayloadSize: 1000, capacity: 50, using: &random)
            case .opus: PacketHistory(soundOf: 1000, capacity: 50)
            }
        }
        let bundle = StreamBundle(
            zip(offer.streams, histories).map { ($0.formats[0].parameters, $1) },
            pace: .video(targetBitrate: 10_000_000),
            clock: ClockReading(monotonic: VirtualCall.start, wall: 0),
            using: &random
        )
        return (bundle, histories)
    }

    private var text: SessionDescription {
        offer.description(local: Negotiation.localTransport, bundle: bundle().bundle, sessionID: 42)
    }

    private func agreement(_ answer: Answer) throws -> Agreement {
        try offer.agreement(in: SessionDescription(parsing: answer.text))
    }

    @Test func anOfferHasALineForEachThingAgreedOn() throws {
        let lines = "\(text)".split(separator: "\r\n").map(String.init).filter { !$0.hasPrefix("a=ssrc") }
        let uris = HeaderExtensions.uris.map(\.uri)
        let transport = [
            "a=ice-ufrag:efgh", "a=ice-pwd:mnopqrstuvwxyzABCDEFGH", "a=ice-options:trickle",
            "a=fingerprint:sha-256 " + Array(repeating: "AB", count: 32).joined(separator: ":"), "a=setup:actpass",
        ]
        func video(_ payloadType: Int) -> [String] {
            ["ccm fir", "goog-remb", "nack", "nack pli", "transport-cc"].map { "a=rtcp-fb:\(payloadType) \($0)" } + [
                "a=rtpmap:\(payloadType + 1) rtx/90000", "a=fmtp:\(payloadType + 1) apt=\(payloadType)",
            ]
        }
        let head = [
            "v=0", "o=- 42 1 IN IP4 127.0.0.1", "s=-", "t=0 0", "a=group:BUNDLE 0 1 2", "a=msid-semantic:WMS *",
        ]
        let screen =
            ["m=video 9 UDP/TLS/RTP/SAVPF 96 97 100 101", "c=IN IP4 0.0.0.0", "a=mid:0"] + transport
            + uris.prefix(5).enumerated().map { "a=extmap:\($0 + 1) \($1)" } + ["a=extmap:7 \(uris[6])"]
            + ["a=sendonly", "a=msid:oriel screen", "a=rtcp-mux", "a=rtcp-rsize", "a=rtpmap:96 VP8/90000"] + video(96)
            + ["a=rtpmap:100 AV1/90000", "a=fmtp:100 level-idx=8;profile=0;tier=0"] + video(100)
        let camera =
            ["m=video 9 UDP/TLS/RTP/SAVPF 96 97", "c=IN IP4 0.0.0.0", "a=mid:1"] + transport
            + uris.prefix(4).enumerated().map { "a=extmap:\($0 + 1) \($1)" } + ["a=extmap:7 \(uris[6])"]
            + ["a=sendonly", "a=msid:oriel camera", "a=rtcp-mux", "a=rtcp-rsize", "a=rtpmap:96 VP8/90000"] + video(96)
        let sound =
            ["m=audio 9 UDP/TLS/RTP/SAVPF 111", "c=IN IP4 0.0.0.0", "a=mid:2"] + transport + [
                "a=extmap:1 \(uris[0])", "a=extmap:3 \(uris[2])", "a=sendonly", "a=msid:oriel sound", "a=rtcp-mux",
                "a=rtcp-rsize", "a=rtpmap:111 opus/48000/2",
                "a=fmtp:111 minptime=10;sprop-stereo=1;stereo=1;useinbandfec=1", "a=rtcp-fb:111 nack",
            ]
        let candidates = ["a=candidate:1 1 udp 2130706431 192.0.2.1 5000 typ host", "a=end-of-candidates"]
        #expect(lines == head + [screen, camera, sound].flatMap { $0 + candidates })
        let (bundle, _) = bundle()
        let sources = text.media.map { media in
            media.attributes.filter { $0.name == "ssrc" && $0.value!.hasSuffix("cname:\(bundle.canonicalName)") }
                .map { UInt32($0.value!.prefix { $0 != " " }) }
        }
        #expect(sources == bundle.streams.map(\.sources), "one name for all")
        #expect(try SessionDescription(parsing: "\(text)") == text)
    }

    @Test(arguments: [("active", DTLSRole.server), ("passive", .client)])
    func whatIsAcceptedIsSent(setup: String, role: DTLSRole) throws {
        let answer = Answer(to: text).everywhere("a=setup", "a=setup:\(setup)")
        let agreement = try agreement(answer)
        #expect(agreement.role == role)
        #expect(agreement.streams == offer.streams.map { $0.withAnswersWords() })
        #expect(agreement.remote.credentials.fragment == "wxyz")
        #expect(agreement.remote.fingerprints == Negotiation.localTransport.fingerprints)
        #expect(!agreement.remote.isLite)
    }

    @Test func aPeerMayTakeAPartOfIt() throws {
        // Not the camera; of the screen only AV1, without retransmissions; the extension of the mid, and one renumbered.
        let answer = Answer(to: text)
            .replacing("m=", in: 0, with: "m=video 9 UDP/TLS/RTP/SAVPF 100")
            .replacing("a=extmap:2", in: 0, with: "a=extmap:6 \(HeaderExtensions.uris[1].uri)")
            .replacing("a=extmap:3", in: 0).replacing("a=extmap:4", in: 0).replacing("a=extmap:5", in: 0)
            .replacing("a=extmap:7", in: 0)
            .replacing("m=", in: 1, with: "m=video 0 UDP/TLS/RTP/SAVPF 96 97")
            .replacing("a=group", with: "a=group:BUNDLE 0 2").replacing("v=0", with: "v=0", "a=ice-lite")
        let agreement = try agreement(answer)
        #expect(agreement.streams.map(\.mid) == ["0", "2"])
        #expect(agreement.streams.map(\.track) == ["screen", "sound"])
        #expect(agreement.streams[0].formats.map(\.codec) == [.video(.av1)])
        let parameters = agreement.streams[0].formats[0].parameters
        #expect(parameters.payloadType == 100 && parameters.retransmissionPayloadType == nil)
        #expect(parameters.extensions == HeaderExtensions(mid: 1))
        #expect(agreement.remote.isLite)
        // Inactive is as good as rejected.
        let inactive = Answer(to: text).replacing("a=recvonly", in: 1, with: "a=inactive")
        #expect(try self.agreement(inactive).streams.map(\.mid) == ["0", "2"])
    }

    @Test func aStreamKeepsItsNameThoughTheAnswerGivesItNone() throws {
        let answer = Answer(to: text).replacing("a=mid", in: 0)
            .replacing("m=", in: 1, with: "m=video 0 UDP/TLS/RTP/SAVPF 96 97")
            .replacing("m=", in: 2, with: "m=audio 0 UDP/TLS/RTP/SAVPF 111")
        let streams = try agreement(answer).streams
        #expect(streams.map(\.mid) == ["0"])
        #expect(streams[0].formats.map(\.parameters.mid) == ["0", "0"])
    }

    @Test(
        arguments: [
            (
                nil, "a=group", ["a=group:BUNDLE 0 1"],
                .init(flaw: "takes streams apart that were offered in one bundle")
            ),
            (nil, "a=group", [], .init(flaw: "takes streams apart that were offered in one bundle")),
            (0, "a=setup", ["a=setup:actpass"], .init(flaw: "says a=setup:actpass instead of active or passive")),
            (0, "a=ice-pwd", ["a=ice-pwd:short"], .init(flaw: "gives no valid ICE credentials")),
            (1, "a=rtcp-mux", [], .init(flaw: "lacks a=rtcp-mux (it is cut off, or keeps RTCP on a port of its own)")),
            (1, "m=", ["m=video 9 RTP/AVP 96"], .init(flaw: "wants RTP/AVP")),
            (1, "a=rtpmap:96", ["a=rtpmap:96 H264/90000"], .init(flaw: "takes video 1 in no format that was offered")),
            (2, "a=rtpmap:111", ["a=rtpmap:111 opus/8000"], .init(flaw: "takes audio 2 in no format that was offered")),
            (
                1, "m=", ["m=audio 9 UDP/TLS/RTP/SAVPF 96 97"],
                .init(flaw: "is not to this offer: it has other media where video 1 was offered")
            ),
            (
                1, "a=mid", ["a=mid:7"],
                .init(flaw: "is not to this offer: it has other media where video 1 was offered")
            ),
            (
                2, "m=", ["m=audio 9 x 1", "m=audio 9 x 1"],
                .init(flaw: "is not to this offer: it has 4 media descriptions for 3")
            ),
        ] as [(Int?, String, [String], UnacceptableAnswer)]
    )
    func whatIsNoAnswerIsRefused(section: Int?, line: String, other: [String], reason: UnacceptableAnswer) {
        var answer = Answer(to: text).replacing(line, in: section, with: "a=here")
        let index = answer.lines.firstIndex(of: "a=here")!
        answer.lines.replaceSubrange(index...index, with: other)
        #expect(throws: reason) { try agreement(answer) }
        #expect(reason.description.hasPrefix("the answer "))
    }

    @Test func aPeerThatWantsNothingSaysSo() {
        let answer = Answer(to: text).everywhere("a=recvonly", "a=inactive")
        #expect(throws: UnacceptableAnswer(flaw: "rejects all that was offered")) { try agreement(answer) }
    }

    @Test func aFingerprintIsNeeded() {
        let answer = Answer(to: text).everywhere("a=fingerprint", "a=x")
        let reason = UnacceptableAnswer(
            flaw: "gives no certificate fingerprint of SHA-256, SHA-384 or SHA-512"
        )
        #expect(throws: reason) { try agreement(answer) }
    }

    @Test func damagedAnswersAreRefusedOrTaken() throws {
        var random = SplitMix64(seed: 11)
        let words = HostilePeerTests.words
        let original = Array(Answer(to: text).text.utf8)
        var taken = 0
        for _ in 0..<3000 {
            var bytes = original
            bytes.damage(words, using: &random)
            guard let answer = try? SessionDescription(parsing: String(decoding: bytes, as: UTF8.self)),
                let agreement = try? offer.agreement(in: answer)
            else { continue }
            check(agreement)
            taken += 1
        }
        #expect(taken > 300)
    }

    private func check(_ agreement: Agreement) {
        for stream in agreement.streams {
            let offered = offer.streams[stream.section]
            #expect(stream.mid == offered.mid)
            #expect(!stream.formats.isEmpty)
            #expect(stream.formats.allSatisfy { offered.formats.map(\.codec).contains($0.codec) })
        }
        #expect(!agreement.streams.isEmpty && !agreement.remote.fingerprints.isEmpty)
    }

    /// The whole way, with the peer as either side of the handshake.
    @Test(arguments: ["active", "passive"])
    func anOffererSendsToWhoAnswers(setup: String) throws {
        let answer = Answer(to: text).everywhere("a=setup", "a=setup:\(setup)")
            .everywhere("a=fingerprint", "a=fingerprint:\(Identities.there.fingerprint)")
            .replacing("m=", in: 1, with: "m=video 0 UDP/TLS/RTP/SAVPF 96 97")
            .replacing("a=group", with: "a=group:BUNDLE 0 2")
        let agreement = try agreement(answer)
        var (bundle, histories) = bundle()
        let announced = bundle.streams.map(\.sources)
        bundle.keep(agreement.streams.map { ($0.formats[0].parameters, histories[$0.section]) })
        let now = VirtualCall.start
        var session = try PeerSession(
            agreement.role,
            expecting: agreement.remote.fingerprints,
            streams: bundle,
            identity: Identities.here,
            now: now
        )
        let viewer = try RemoteViewer(agreement.role == .client ? .server : .client)
        func exchange() throws { try session.exchange(with: viewer, at: now) }
        session.pathFound()
        viewer.dtls.start()
        try exchange()
        let frame = [UInt8](repeating: 3, count: 500)
        for history in histories.prefix(2) {
            history.append(frame: frame, isKeyframe: true, dimensions: (8, 8), capturedAt: now, now: now)
        }
        histories[2].append(sound: frame, capturedAt: now, now: now)
        try exchange()
        // The rest is padding, which measures the link.
        let packets = viewer.packets.filter { !$0.payload.isEmpty }
        #expect(Set(packets.map(\.header.ssrc)) == [announced[0][0], announced[2][0]])
        #expect(packets.map(\.header.payloadType).sorted() == [96, 111])
    }
}

extension AgreedStream {
    /// As an answer confirms it: the parameters of formats are those that answers repeat.
    fileprivate func withAnswersWords() -> AgreedStream {
        AgreedStream(
            mid: mid,
            track: track,
            formats: formats.map { format in
                var parameters = format.parameters
                parameters.canAskForRepair = !format.feedback.isEmpty
                return AgreedStream.Format(
                    codec: format.codec,
                    parameters: parameters,
                    specifics: format.codec == .opus ? nil : format.specifics,
                    // What has numbers of its own needs no estimate of the peer's.
                    feedback: format.feedback.filter { $0 != "goog-remb" }
                )
            },
            extensions: extensions,
            section: section
        )
    }
}
