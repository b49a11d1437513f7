import Media
import RTP
import Testing
import WebRTC

@Suite struct NegotiationTests {
    private let offer = Offer()

    @Test func aSmallOfferIsAnsweredLineByLine() throws {
        let negotiation = try offer.negotiate()
        let answer = negotiation.answer.description.split(separator: "\r\n").map(String.init)
        let ssrcs = answer.filter { $0.hasPrefix("a=ssrc") }
        #expect(
            answer.filter { !$0.hasPrefix("a=ssrc") } == [
                "v=0", "o=- 42 1 IN IP4 127.0.0.1", "s=-", "t=0 0", "a=group:BUNDLE 0", "a=msid-semantic:WMS *",
                "m=video 9 UDP/TLS/RTP/SAVPF 96 97", "c=IN IP4 0.0.0.0", "a=mid:0",
                "a=ice-ufrag:efgh", "a=ice-pwd:mnopqrstuvwxyzABCDEFGH", "a=ice-options:trickle",
                "a=fingerprint:sha-256 " + Array(repeating: "AB", count: 32).joined(separator: ":"),
                "a=setup:active", "a=sendonly", "a=msid:oriel screen", "a=rtcp-mux",
                "a=rtpmap:96 VP8/90000", "a=rtcp-fb:96 nack", "a=rtpmap:97 rtx/90000", "a=fmtp:97 apt=96",
                "a=candidate:1 1 udp 2130706431 192.0.2.1 5000 typ host", "a=end-of-candidates",
            ]
        )
        let group = try #require(ssrcs.first)
        let numbers = group.split(separator: " ").dropFirst()
        #expect(group.hasPrefix("a=ssrc-group:FID "))
        #expect(Set(numbers).count == 2)
        #expect(
            ssrcs.dropFirst().map { $0.prefix { $0 != " " } }
                == numbers.flatMap { number in ["a=ssrc:\(number)", "a=ssrc:\(number)"] }
        )
    }

    @Test func theRemoteTransportIsTheOneOffered() throws {
        let remote = try offer.adding("a=candidate:1 1 udp 5 192.0.2.9 6000 typ host").negotiate().agreement.remote
        #expect(remote.credentials == ICECredentials(fragment: "abcd", password: "0123456789abcdefghijkl"))
        #expect(remote.fingerprints == [Fingerprint(parsing: Offer.fingerprint)])
        #expect(remote.candidates.map(\.address) == ["192.0.2.9"])
        #expect(!remote.isLite)
    }

    @Test(arguments: [
        ("actpass", DTLSRole.client, "active"), ("passive", .client, "active"), ("active", .server, "passive"),
    ])
    func setupDecidesWhoBeginsTheHandshake(setup: String, role: DTLSRole, answered: String) throws {
        let negotiation = try offer.replacing("a=setup", with: "a=setup:\(setup)").negotiate()
        #expect(negotiation.agreement.role == role)
        #expect(negotiation.answer.media[0].attributes.contains(.init("setup", answered)))
    }

    @Test func whoDoesNotNameASetupIsPassive() throws {
        #expect(try offer.without("a=setup").negotiate().agreement.role == .client)
    }

    @Test(
        arguments: [
            ("a=recvonly", "a=sendonly", .noVideo), ("a=recvonly", "a=inactive", .noVideo),
            ("m=video", "m=audio 9 UDP/TLS/RTP/SAVPF 96 97", .noVideo),
            ("m=video", "m=video 0 UDP/TLS/RTP/SAVPF 96 97", .noVideo),
            ("a=setup", "a=setup:holdconn", .incomplete("says a=setup:holdconn: offer actpass")),
            (
                "a=rtcp-mux", "a=x",
                .incomplete("lacks a=rtcp-mux (it is cut off, or keeps RTCP on a port of its own): offer a=rtcp-mux")
            ),
            ("m=video", "m=video 9 RTP/AVP 96 97", .incomplete("wants RTP/AVP: offer UDP/TLS/RTP/SAVPF")),
            ("a=ice-ufrag", "a=ice-ufrag:abc", .incomplete("gives no valid ICE credentials")),
            ("a=ice-pwd", "a=x", .incomplete("gives no valid ICE credentials")),
            (
                "a=fingerprint", "a=fingerprint:sha-1 00:01:02:03:04:05:06:07:08:09:0A:0B:0C:0D:0E:0F:10:11:12:13",
                .incomplete("gives no certificate fingerprint of SHA-256, SHA-384 or SHA-512")
            ),
            ("a=rtpmap:96", "a=rtpmap:96 H264/90000", .noCommonCodec(offered: ["H264", "RTX"])),
            ("a=rtpmap:96", "a=rtpmap:96 VP8/8000", .noCommonCodec(offered: ["VP8", "RTX"])),
            ("a=rtpmap:96", "a=x", .noCommonCodec(offered: ["RTX"])),
        ] as [(String, String, UnacceptableOffer)]
    )
    func whatCannotBeServedIsRefused(line: String, replacement: String, reason: UnacceptableOffer) {
        #expect(throws: reason) { try offer.replacing(line, with: replacement).negotiate() }
    }

    @Test func refusalsAreSentences() {
        #expect(
            UnacceptableOffer.noCommonCodec(offered: ["H264", "H265"]).description
                == "none of the offered codecs (H264, H265) is sent here: offer VP8, VP9 or AV1"
        )
        #expect(UnacceptableOffer.incomplete("is blank").description == "the offer is blank")
    }

    @Test func theDirectionMayBeTheSessionsOrNone() throws {
        #expect(throws: Never.self) { try offer.without("a=recvonly").negotiate() }
        #expect(throws: Never.self) { try offer.replacing("a=recvonly", with: "a=sendrecv").negotiate() }
        let session = offer.replacing("t=0 0", with: "t=0 0", "a=sendonly")
        #expect(throws: Never.self) { try session.negotiate() }
        #expect(throws: UnacceptableOffer.noVideo) { try session.without("a=recvonly").negotiate() }
    }

    @Test func theTransportMayBeTheSessions() throws {
        let moved = offer.lines.filter { line in
            ["a=ice-", "a=fingerprint", "a=setup"].contains { line.hasPrefix($0) }
        }
        var session = offer.without("a=ice-", "a=fingerprint", "a=setup")
        session.lines.insert(contentsOf: moved, at: 4)
        #expect(try session.negotiate().agreement.remote == offer.negotiate().agreement.remote)
        #expect(try session.replacing("a=setup", with: "a=setup:active").negotiate().agreement.role == .server)
    }

    /// A certificate that another description, or the session, names does not pass for this one's.
    @Test func ownFingerprintsReplaceTheSessions() throws {
        let other = "sha-256 " + Array(repeating: "EE", count: 32).joined(separator: ":")
        let both = offer.replacing("t=0 0", with: "t=0 0", "a=fingerprint:\(other)")
        #expect(try both.negotiate().agreement.remote.fingerprints == [Fingerprint(parsing: Offer.fingerprint)])
        let two = offer.adding("a=fingerprint:\(other)")
        #expect(try two.negotiate().agreement.remote.fingerprints.map(\.bytes.last) == [1, 0xEE])
    }

    @Test func aLitePeerIsNoted() throws {
        #expect(try offer.replacing("t=0 0", with: "t=0 0", "a=ice-lite").negotiate().agreement.remote.isLite)
    }

    @Test func withoutANameThereIsNoBundle() throws {
        let negotiation = try offer.without("a=mid", "a=group").negotiate()
        #expect(negotiation.mid == "")
        #expect(!negotiation.answer.description.contains("a=mid"))
        #expect(!negotiation.answer.description.contains("BUNDLE"))
    }

    @Test func aBundleIsAnsweredOnlyWhereOneIsOffered() throws {
        #expect(try !offer.without("a=group").negotiate().answer.description.contains("BUNDLE"))
        let other = offer.replacing("a=group", with: "a=group:LS 0")
        #expect(try !other.negotiate().answer.description.contains("a=group"))
        // RFC 9143 §7.3: an answer puts nothing into a bundle that was not offered in it.
        let beside = offer.replacing("a=group", with: "a=group:BUNDLE audio")
        #expect(try !beside.negotiate().answer.description.contains("a=group"))
    }

    @Test func aLaterDescriptionIsTakenWhenTheFirstIsAnother() throws {
        var bundle = offer.replacing(
            "a=group",
            with: "a=group:BUNDLE a 0 b",
            "m=audio 9 UDP/TLS/RTP/SAVPF 111",
            "a=mid:a"
        )
        bundle = bundle.adding("m=video 9 UDP/TLS/RTP/SAVPF 96", "a=mid:b", "a=recvonly", "a=rtpmap:96 VP8/90000")
        let answer = try bundle.negotiate().answer
        #expect(answer.media.map(\.kind) == ["audio", "video", "video"])
        #expect(answer.media.map(\.port) == [0, 9, 0])
        #expect(answer.media[0].attributes == [.init("mid", "a"), .init("inactive")])
        #expect(answer.media[2].attributes == [.init("mid", "b"), .init("inactive")])
        #expect(answer.attributes.contains(.init("group", "BUNDLE 0")))
    }

    @Test func aBundledDescriptionHasTheTransportOfTheFirst() throws {
        let first = offer.lines.filter { line in
            ["a=ice-", "a=fingerprint", "a=setup"].contains { line.hasPrefix($0) }
        }
        let candidate = "a=candidate:1 1 udp 5 192.0.2.9 6000 typ host"
        var bundle = offer.without("a=ice-", "a=fingerprint", "a=setup")
        let lines = ["m=audio 9 UDP/TLS/RTP/SAVPF 111", "a=mid:a", candidate] + first
        bundle.lines.insert(contentsOf: lines, at: 5)
        let expected = try offer.adding(candidate).negotiate().agreement.remote
        #expect(try bundle.negotiate().agreement.remote == expected)
        let bundleOnly = bundle.replacing("m=video", with: "m=video 0 UDP/TLS/RTP/SAVPF 96 97", "a=bundle-only")
        #expect(try bundleOnly.negotiate().agreement.remote == expected)
    }

    /// As players offer that ask for sound first: to reject that description would take the bundle away (RFC 9143 §7.3.3).
    private func soundFirst(_ video: String..., lines: [String] = []) -> Offer {
        let transport = offer.lines.filter { line in
            ["a=ice-", "a=fingerprint", "a=setup", "a=rtcp-mux", "a=recvonly"].contains { line.hasPrefix($0) }
        }
        var bundle = offer.replacing("a=group", with: "a=group:BUNDLE a 0")
        let sound = [
            "m=audio 9 UDP/TLS/RTP/SAVPF 111 0", "c=IN IP4 0.0.0.0", "a=mid:a", "a=rtpmap:111 opus/48000/2",
            "a=fmtp:111 useinbandfec=1", "a=rtpmap:0 PCMU/8000",
        ]
        bundle.lines.insert(contentsOf: sound + transport + lines, at: 5)
        return bundle.replacing("m=video", with: "m=video 9 UDP/TLS/RTP/SAVPF 96 97", "a=x")
    }

    @Test func theDescriptionThatCarriesTheBundleIsNotRejected() throws {
        let candidate = "a=candidate:1 1 udp 5 192.0.2.9 6000 typ host"
        var offer = soundFirst(lines: [candidate])
        // Another transport, which the bundle leaves unused.
        let last = try #require(offer.lines.lastIndex { $0.hasPrefix("a=ice-ufrag") })
        offer.lines[last] = "a=ice-ufrag:other"
        offer = offer.adding("a=candidate:1 1 udp 5 192.0.2.9 6001 typ host")
        let negotiation = try offer.negotiate()
        #expect(negotiation.agreement.remote.credentials.fragment == "abcd")
        #expect(negotiation.agreement.remote.candidates.map(\.port) == [6000])
        #expect(negotiation.mid == "0")
        #expect(negotiation.transportSection == ("audio", "a"))
        let answer = negotiation.answer
        #expect(answer.attributes.contains(.init("group", "BUNDLE a 0")))
        #expect(answer.media.map(\.kind) == ["audio", "video"])
        #expect(answer.media.map(\.port) == [9, 9])
        let (sound, video) = (answer.media[0], answer.media[1])
        #expect(sound.formats == ["111"])
        #expect(
            sound.attributes.map(\.description) == [
                "a=mid:a", "a=ice-ufrag:efgh", "a=ice-pwd:mnopqrstuvwxyzABCDEFGH", "a=ice-options:trickle",
                "a=fingerprint:sha-256 " + Array(repeating: "AB", count: 32).joined(separator: ":"),
                "a=setup:active", "a=inactive", "a=rtcp-mux", "a=rtpmap:111 opus/48000/2",
                "a=fmtp:111 useinbandfec=1", "a=candidate:1 1 udp 2130706431 192.0.2.1 5000 typ host",
                "a=end-of-candidates",
            ]
        )
        for attribute in sound.attributes where attribute.name.hasPrefix("ice-") || attribute.name == "setup" {
            #expect(video.attributes.contains(attribute), "\(attribute)")
        }
        #expect(video.attributes.contains(.init("sendonly")))
        #expect(!video.attributes.contains { $0.name.hasSuffix("candidate") || $0.name == "end-of-candidates" })
    }

    @Test func aBundleOnlyDescriptionIsServed() throws {
        let bundleOnly = soundFirst().without("a=x")
            .replacing("m=video", with: "m=video 0 UDP/TLS/RTP/SAVPF 96 97", "a=bundle-only")
        #expect(try bundleOnly.negotiate().answer.media.map(\.port) == [9, 9])
    }

    @Test(arguments: [
        ("m=audio", "m=audio 0 UDP/TLS/RTP/SAVPF 111 0"), ("m=audio", "m=audio 9 RTP/AVP 111 0"),
        ("m=audio", "m=application 9 UDP/DTLS/SCTP webrtc-datachannel"), ("a=rtcp-mux", "a=x"),
        ("m=audio", "m=audio 9 UDP/TLS/RTP/SAVPF 111 0\r\na=bundle-only"), ("a=mid:a", "a=mid:b"),
    ])
    func aDescriptionThatCannotCarryTheBundleIsRejected(line: String, replacement: String) throws {
        let negotiation = try soundFirst().replacing(line, with: replacement).negotiate()
        let answer = negotiation.answer
        #expect(answer.media.map(\.port) == [0, 9])
        #expect(answer.attributes.contains(.init("group", "BUNDLE 0")))
        #expect(answer.media[1].attributes.contains { $0.name == "candidate" })
        #expect(negotiation.transportSection == ("video", "0"))
    }

    @Test func onlyTheFirstOfTwoScreensIsServed() throws {
        let second = offer.lines.drop { !$0.hasPrefix("m=") }.map { $0 == "a=mid:0" ? "a=mid:1" : $0 }
        var both = offer
        both.lines += second
        #expect(try both.negotiate().answer.media.map(\.port) == [9, 0])
        both.lines[both.lines.firstIndex(of: "a=recvonly")!] = "a=sendonly"
        let negotiation = try both.negotiate()
        #expect(negotiation.mid == "1")
        #expect(negotiation.answer.media.map(\.port) == [0, 9])
    }

    /// Who only sends in a description does not see what this side sends there.
    @Test(
        arguments: [
            (["sendonly", "recvonly"], true, "1"), (["sendonly", "recvonly", "sendrecv", "sendrecv"], true, "2"),
            (["inactive", "sendonly", "sendonly"], true, "1"), (["recvonly", "sendrecv"], false, "0"),
        ] as [([String], Bool, String)]
    )
    func aStreamGoesWhereItIsTaken(directions: [String], receives: Bool, mid: String) throws {
        var several = offer
        let first = try #require(offer.lines.firstIndex { $0.hasPrefix("m=") })
        several.lines.removeSubrange(first...)
        for (index, direction) in directions.enumerated() {
            several.lines += offer.lines[first...].map { line in
                switch line {
                case "a=mid:0": "a=mid:\(index)"
                case "a=recvonly": "a=\(direction)"
                default: line
                }
            }
        }
        let negotiation = try Negotiation(offer: several.description, codecs: [[.vp8]], receives: receives)
        #expect(negotiation.agreement.streams.map(\.mid) == [mid])
    }

    /// An offer of the longest length, made to be slow, is read in no more steps than it has lines.
    @Test func repeatedFormatsAreOne() throws {
        let formats = Array(repeating: "96 97", count: 8000).joined(separator: " ")
        let negotiation = try offer.replacing("m=", with: "m=video 9 UDP/TLS/RTP/SAVPF \(formats)").negotiate()
        #expect(negotiation.video.payloadType == 96)
        #expect(negotiation.video.retransmissionPayloadType == 97)
    }

    @Test func tooManyDescriptionsAreRefused() {
        let text = "v=0\r\n" + String(repeating: "m=video 9 UDP/TLS/RTP/SAVPF 96\r\n", count: 65)
        #expect(throws: MalformedSDP.self) {
            try SessionDescription(parsing: text)
        }
    }

    /// Browsers trickle for the first description of a bundle, whichever that is.
    @Test func allDescriptionsOfABundleShareItsCandidates() throws {
        let negotiation = try Negotiation(offer: Offers.description("chromium"), codecs: [[.vp8]])
        #expect(negotiation.bundledMids == ["0", "1", "2"])
        #expect(try offer.negotiate().bundledMids == ["0"])
    }

    // MARK: - Several streams

    private static let locals = [
        LocalStream(track: "screen", codecs: [[.video(.vp8)], [.video(.av1)]]),
        LocalStream(track: "camera", codecs: [[.video(.vp9), .video(.vp8)]]),
        LocalStream(track: "sound", codecs: [[.opus]]),
    ]

    /// A browser's offer, and a second description of video in the same bundle.
    private func severalStreams(_ name: String) throws -> SessionDescription {
        var offer = try Offers.description(name)
        var second = offer.media[0]
        let mid = second.attributes.firstIndex { $0.name == "mid" }!
        second.attributes[mid] = .init("mid", "second")
        offer.media.append(second)
        let group = offer.attributes.firstIndex { $0.name == "group" }!
        offer.attributes[group] = .init("group", offer.attributes[group].value! + " second")
        return offer
    }

    @Test(arguments: ["chromium", "firefox"])
    func eachStreamGetsADescriptionOfItsKind(name: String) throws {
        let offer = try severalStreams(name)
        let negotiation = try Negotiation(offer: offer, streams: Self.locals)
        #expect(
            negotiation.agreement.streams.map(\.track) == ["screen", "sound", "camera"],
            "in the order of the offer"
        )
        #expect(negotiation.agreement.streams.map(\.mid) == ["0", "1", "second"])
        #expect(negotiation.agreement.streams.map { $0.formats[0].codec } == [.video(.vp8), .opus, .video(.vp9)])
        let sound = negotiation.agreement.streams[1].formats[0].parameters
        #expect(sound.retransmissionPayloadType == nil)
        #expect(sound.payloadType == (name == "chromium" ? 111 : 109))
        #expect(sound.extensions.mid == negotiation.agreement.streams[0].formats[0].parameters.extensions.mid)
        #expect(sound.extensions.playoutDelay == nil)
        let (answer, bundle) = negotiation.answerAndBundle
        #expect(answer.media.map { $0.port != 0 } == [true, true, false, true])
        #expect(answer.attributes.contains(.init("group", "BUNDLE 0 1 second")))
        #expect(try SessionDescription(parsing: "\(answer)") == answer)
        let sources = answer.media.map { media in
            media.attributes.filter { $0.name == "ssrc" && $0.value!.hasSuffix("cname:\(bundle.canonicalName)") }
                .map { UInt32($0.value!.prefix { $0 != " " }) }
        }
        #expect(sources == [bundle.streams[0].sources, bundle.streams[1].sources, [], bundle.streams[2].sources])
        #expect(
            answer.media.map { media in media.attributes.filter { $0.name == "msid" }.map(\.value) } == [
                ["oriel screen"], ["oriel sound"], [], ["oriel camera"],
            ]
        )
        #expect(answer.media.map { $0.attributes.contains(.init("end-of-candidates")) } == [true, false, false, false])
    }

    @Test func whatIsNotAskedForIsNotSent() throws {
        let sound = Self.locals[2]
        #expect(
            try Negotiation(offer: Offers.description("libwebrtc"), streams: Self.locals).agreement.streams.count == 1
        )
        // Another transport, and a name that is taken.
        for (group, mid) in [("0 1 2", "second"), ("0 1 2 second", "0")] {
            var offer = try severalStreams("chromium")
            offer.attributes[offer.attributes.firstIndex { $0.name == "group" }!] = .init("group", "BUNDLE \(group)")
            let index = offer.media[3].attributes.firstIndex { $0.name == "mid" }!
            offer.media[3].attributes[index] = .init("mid", mid)
            let negotiation = try Negotiation(offer: offer, streams: Self.locals)
            #expect(negotiation.agreement.streams.map(\.track) == ["screen", "sound"])
            #expect(negotiation.answerAndBundle.answer.media.map { $0.port != 0 } == [true, true, false, false])
        }
        #expect(throws: UnacceptableOffer.incomplete("asks for sound without Opus: offer opus/48000/2")) {
            try Negotiation(
                offer: soundFirst().replacing("a=rtpmap:111", with: "a=rtpmap:111 L16/44100").description,
                streams: [sound]
            )
        }
        #expect(throws: UnacceptableOffer.noVideo) { try Negotiation(offer: offer.description, streams: [sound]) }
    }

    // MARK: - Sound from the peer

    private static let levelURI = "urn:ietf:params:rtp-hdrext:ssrc-audio-level"

    /// The description of sound in the answer to an offer of it, its direction, and whether the peer's sound is taken.
    private func sound(
        offered direction: String,
        receives: Bool
    ) throws -> (media: SessionDescription.Media, agreed: AgreedStream?) {
        let offer = try soundFirst().replacing("a=recvonly", with: "a=\(direction)")
            .replacing("a=rtpmap:111", with: "a=rtpmap:111 opus/48000/2", "a=extmap:4 \(Self.levelURI)").description
        let locals = [
            LocalStream(track: "screen", codecs: [[.video(.vp8)]]),
            LocalStream(track: "sound", codecs: [[.opus]], receives: receives),
        ]
        let negotiation = try Negotiation(offer: offer, streams: locals)
        let stream = negotiation.agreement.streams.first { $0.track == "sound" }
        return (negotiation.answerAndBundle.answer.media[0], stream)
    }

    @Test(
        arguments: [
            ("sendrecv", true, "sendrecv"), ("sendonly", true, "recvonly"), ("recvonly", true, "sendonly"),
            ("sendrecv", false, "sendonly"), ("recvonly", false, "sendonly"), ("sendonly", false, "inactive"),
            ("inactive", true, "inactive"),
        ]
    )
    func soundIsTakenWhereItMayBe(offered: String, receives: Bool, answered: String) throws {
        let (media, stream) = try sound(offered: offered, receives: receives)
        #expect(media.attributes.contains(.init(answered)))
        let isReceived = ["sendrecv", "recvonly"].contains(answered)
        #expect(stream?.isReceived ?? false == isReceived)
        #expect(stream?.isSent ?? false == ["sendrecv", "sendonly"].contains(answered))
        // What is not taken is not wished for.
        #expect(media.attributes.contains(.init("fmtp", "111 minptime=10;useinbandfec=1;usedtx=1")) == isReceived)
        #expect(media.attributes.contains(.init("extmap", "4 \(Self.levelURI)")) == isReceived)
        #expect(stream?.formats[0].parameters.extensions.soundLevel == (isReceived ? 4 : nil))
    }

    @Test func soundMayCarryTheBundle() throws {
        let negotiation = try Negotiation(offer: soundFirst().description, streams: Self.locals)
        #expect(negotiation.agreement.streams.map(\.track) == ["sound", "screen"])
        #expect(negotiation.transportSection == ("audio", "a"))
        let answer = negotiation.answerAndBundle.answer
        #expect(answer.attributes.contains(.init("group", "BUNDLE a 0")))
        #expect(answer.media.map { $0.attributes.contains(.init("sendonly")) } == [true, true])
        #expect(answer.media.map { $0.attributes.contains(.init("end-of-candidates")) } == [true, false])
    }
}
