import Media
import TestSupport
import Testing
import Time

@testable import RTP
@testable import WebRTC

/// Text and datagrams that nobody honest sends. Nothing here may crash or hang.
@Suite struct HostilePeerTests {
    /// Words of the grammar, and characters that join with their neighbours.
    static let words =
        [
            "\r\n", "\n", "a=", "m=video 9 UDP/TLS/RTP/SAVPF 96", "m=audio 0 x 1", "a=mid:", "a=bundle-only",
            "a=candidate:", "a=recvonly", "a=setup:passive", "a=group:BUNDLE", "a=extmap:1 ", "/recvonly", "sha-512 ",
            "a=ice-lite", "a=rtcp-mux", "VP9/90000", "a=rtcp-fb:* nack", "18446744073709551616", "-1", "0", "65535",
            " ", ":",
            "=", "\u{301}", "\u{200D}", "\u{600}", "\u{2028}", "\0", "é", "🇩🇪", " raddr ::1 rport 1",
            String(repeating: "x", count: 300),
        ].map { Array($0.utf8) }

    @Test(arguments: Offers.names + ["small"])
    func damagedOffersAreRefusedOrAnswered(name: String) throws {
        var random = SplitMix64(seed: 100 + UInt64(name.utf8.count))
        let text = name == "small" ? Offer().text : try Offers.text(name)
        // The longest offers are mostly codecs that are not sent here.
        let original = Array(text.utf8.prefix(6000))
        var answered = 0
        for _ in 0..<600 {
            var bytes = original
            bytes.damage(Self.words, using: &random)
            guard let offer = try? SessionDescription(parsing: String(decoding: bytes, as: UTF8.self)) else { continue }
            #expect(try SessionDescription(parsing: "\(offer)") == offer)
            guard let negotiation = try? Negotiation(offer: offer, codecs: [[.vp8, .vp9], [.av1]]) else { continue }
            let answer = negotiation.answer
            #expect(try SessionDescription(parsing: "\(answer)") == answer)
            #expect(answer.media.count == offer.media.count)
            #expect(answer.media.filter { $0.port != 0 }.count == 1)
            answered += 1
        }
        #expect(answered > 40)
    }

    @Test func damagedFragmentsAreRefusedOrTaken() throws {
        var random = SplitMix64(seed: 7)
        let original = TrickleFragment(
            credentials: ICECredentials(fragment: "8hhY", password: "asd88fgpdd777uzjYhagZg"),
            candidates: Negotiation.localTransport.candidates,
            isLast: true
        )
        var taken = 0
        for _ in 0..<5000 {
            var bytes = Array(original.description(of: ("video", "0")).utf8)
            bytes.damage(Self.words, using: &random)
            let text = String(decoding: bytes, as: UTF8.self)
            guard let fragment = try? TrickleFragment(parsing: text, mids: ["0"]) else { continue }
            #expect(try TrickleFragment(parsing: fragment.description(of: ("video", "0")), mids: ["0"]) == fragment)
            taken += 1
        }
        #expect(taken > 2000)
    }

    @Test func damagedCandidatesAreRefusedOrPrinted() {
        var random = SplitMix64(seed: 8)
        let original = Array("2 1 UDP 1694498815 192.0.2.3 45664 typ srflx raddr 203.0.113.141 rport 8998".utf8)
        var taken = 0
        for _ in 0..<10_000 {
            var bytes = original
            bytes.damage(Self.words, using: &random)
            guard let candidate = Candidate(parsing: String(decoding: bytes, as: UTF8.self)) else { continue }
            #expect(Candidate(parsing: "\(candidate)") == candidate)
            taken += 1
        }
        #expect(taken > 500)
    }

    @Test(arguments: ["actpass", "active"])
    func damagedHandshakesEndOrGoOn(setup: String) throws {
        var random = SplitMix64(seed: 9)
        let recorded = try Self.handshake(setup)
        var sessions = 0
        var call = try Self.call(setup)
        for round in 0..<3000 {
            if call.end != nil || round % 20 == 0 {
                call = try Self.call(setup)
                call.session.pathFound()
                sessions += 1
            }
            var datagram = recorded.randomElement(using: &random)!
            if round % 4 != 0 { datagram.damage(recorded, using: &random) }
            call.receive(datagram)
            call.session.poll(at: call.now) { _ in true }
            #expect(call.profile == nil, "an old handshake makes no keys")
        }
        #expect(sessions >= 150)
    }

    @Test(arguments: ["actpass", "active"])
    func anEstablishedSessionOutlivesAnyDatagram(setup: String) throws {
        var random = SplitMix64(seed: 10)
        let call = try Self.call(setup)
        try call.connect()
        _ = try call.append(3000, isKeyframe: true)
        let ssrc = call.viewer.packets[0].header.ssrc
        let sealed = try call.viewer.protect(Feedback.pictureLoss(ssrc))
        let binding: [UInt8] = [0, 1, 0, 0, 0x21, 0x12, 0xA4, 0x42] + [UInt8](repeating: 5, count: 12)
        let seeds = try Self.handshake(setup) + [sealed, binding, [], [0x80], [0x81, 206]]
        for _ in 0..<10_000 {
            var datagram = seeds.randomElement(using: &random)!
            datagram.damage(seeds, using: &random)
            if datagram != sealed { call.receive(datagram) }
            call.now += .milliseconds(2)
        }
        #expect(call.end == nil)
        #expect(call.statistics.keyframeRequests == 0)
        try call.report(Feedback.pictureLoss(ssrc))
        #expect(call.statistics.keyframeRequests == 1)
        let before = call.viewer.packets.count
        _ = try call.append(500)
        #expect(call.viewer.packets.count == before + 1)
    }

    /// All peers share a thread: what one of them sends beyond its budget is not even decrypted. It is heard again once it is silent.
    @Test func aFloodOfFeedbackIsNotReadBeyondTheBudget() throws {
        let call = try Self.call("actpass")
        try call.connect()
        _ = try call.append(3000, isKeyframe: true)
        let loss = Feedback.pictureLoss(call.viewer.packets[0].header.ssrc)
        // The handshake takes the place of fewer than twenty.
        let burst = 1_500_000 / (WorkBudget.overhead + loss.count + 14)
        for _ in 0..<10_000 { call.receive(try call.viewer.protect(loss)) }
        let read = call.statistics.keyframeRequests
        #expect(UInt64(burst) - 40...UInt64(burst) + 10 ~= read, "\(read) of \(burst)")
        call.now += .seconds(1)
        call.receive(try call.viewer.protect(loss))
        #expect(call.statistics.keyframeRequests == read + 1)
        #expect(call.end == nil)
    }

    private static func call(_ setup: String) throws -> VirtualCall {
        try VirtualCall(Offer().replacing("a=setup", with: "a=setup:\(setup)"))
    }

    /// What the viewer sent in a handshake of another session.
    private static func handshake(_ setup: String) throws -> [[UInt8]] {
        let call = try call(setup)
        var recorded: [[UInt8]] = []
        call.session.pathFound()
        call.viewer.dtls.start()
        while true {
            var out: [[UInt8]] = []
            call.session.poll(at: call.now) {
                out.append(Array($0)); return true
            }
            for datagram in out { try call.viewer.receive(datagram) }
            let back = call.viewer.dtls.takeDatagrams()
            recorded += back
            for datagram in back { call.receive(datagram) }
            if out.isEmpty, back.isEmpty { return recorded }
        }
    }
}
