import RTP
import TestSupport
import Testing
import Time

@testable import WebRTC

@Suite struct PeerSessionTests {
    private func call(setup: String = "actpass") throws -> VirtualCall {
        try VirtualCall(Offer().replacing("a=setup", with: "a=setup:\(setup)"))
    }

    @Test(arguments: ["actpass", "active"])
    func picturesArriveAfterTheHandshake(setup: String) throws {
        let call = try call(setup: setup)
        #expect(call.profile == nil)
        #expect(!call.takeKeyframeRequest(), "nobody can see a keyframe yet")
        try call.connect()
        #expect(call.profile == .aes128GCM)
        #expect(call.viewer.packets.isEmpty)
        #expect(call.takeKeyframeRequest())
        #expect(!call.takeKeyframeRequest(), "the answer is given once")
        let frames = [try call.append(9000, isKeyframe: true), try call.append(2000)]
        let packets = call.viewer.packets
        // Behind a descriptor of six bytes.
        #expect(packets.flatMap { $0.payload.dropFirst(6) } == frames.flatMap { $0 })
        #expect(packets.filter(\.header.marker).count == 2)
        #expect(packets.allSatisfy { $0.header.payloadType == 96 })
        #expect(call.statistics.frames == 2)
        guard case .senderReport(let report) = call.viewer.reports.first else {
            Issue.record("a report follows the first packets")
            return
        }
        #expect(report.packetCount > 0)
        #expect(report.ssrc == packets[0].header.ssrc)
    }

    @Test func packetsFillTheLargestDatagramAndNoMore() throws {
        let call = try call()
        try call.connect()
        _ = try call.append(PeerSession.maximumPayloadSize * 4, isKeyframe: true)
        #expect(call.viewer.packets.count == 5)
        #expect(call.viewer.packets.allSatisfy { $0.payload.count <= PeerSession.maximumPayloadSize })
    }

    @Test func theHandshakeMayComeBeforeThePath() throws {
        let call = try call(setup: "active")
        call.viewer.dtls.start()
        try call.exchange()
        #expect(call.profile != nil)
        call.session.pathFound()
        _ = try call.append(500, isKeyframe: true)
        #expect(call.viewer.packets.count == 1)
    }

    @Test func lostPacketsComeAgainInAStreamOfTheirOwn() throws {
        let call = try call()
        try call.connect()
        _ = try call.append(5000, isKeyframe: true)
        let lost = call.viewer.packets[2]
        let count = call.viewer.packets.count
        try call.report(Feedback.lost(lost.header.sequenceNumber, lost.header.ssrc))
        let again = try #require(call.viewer.packets.dropFirst(count).first)
        #expect(call.viewer.packets.count == count + 1)
        #expect(again.header.payloadType == 97)
        #expect(again.header.ssrc != lost.header.ssrc)
        #expect(again.header.timestamp == lost.header.timestamp)
        #expect(again.header.marker == lost.header.marker)
        let number = lost.header.sequenceNumber
        #expect(again.payload == [UInt8(number >> 8), UInt8(number & 0xFF)] + lost.payload)
        #expect(call.negotiation.answer.description.contains("a=rtpmap:97 rtx/90000"))
    }

    @Test func withoutAStreamOfTheirOwnTheyComeAsTheyWere() throws {
        let call = try VirtualCall(Offer().without("a=fmtp:97"))
        try call.connect()
        _ = try call.append(5000, isKeyframe: true)
        let lost = call.viewer.packets[2]
        let datagrams = call.viewer.datagrams
        var again: [[UInt8]] = []
        call.receive(try call.viewer.protect(Feedback.lost(lost.header.sequenceNumber, lost.header.ssrc)))
        call.session.poll(at: call.now) {
            again.append(Array($0)); return true
        }
        #expect(again.count == 1)
        #expect(call.viewer.datagrams == datagrams)
        #expect(
            again.first.map { Array($0[2..<4]) }
                == withUnsafeBytes(of: lost.header.sequenceNumber.bigEndian) { Array($0) }
        )
        #expect(call.statistics.retransmissions == 1)
    }

    /// Neither what waits for its turn, nor what was lost, nor what a newcomer would begin with leaves after a pause.
    @Test func whatIsForgottenIsNotSentAgainAndNobodyBeginsWithIt() throws {
        let call = try VirtualCall()
        try call.connect()
        _ = try call.append(5000, isKeyframe: true)
        let lost = try #require(call.viewer.packets.first)
        func canBegin() -> Bool { call.history.canBegin(at: call.now) }
        #expect(canBegin())
        // So much that the pace holds some of it back.
        _ = try call.append(200_000)
        let sent = call.viewer.packets.count
        #expect(UInt64(sent) < call.history.end)
        _ = call.history.forget(takenBefore: .nanoseconds(.max))
        #expect(!canBegin())
        call.now += .milliseconds(50)
        try call.report(Feedback.lost(lost.header.sequenceNumber, lost.header.ssrc))
        call.now += .seconds(1)
        try call.exchange()
        #expect(call.viewer.packets.count == sent)
        #expect(call.takeKeyframeRequest())
        // It goes on with the picture that comes after.
        _ = try call.append(900, isKeyframe: true)
        #expect(call.viewer.packets.count == sent + 1)
    }

    /// As when the buffer of the system's socket is full while the broadcast is paused.
    /// Invariant: paused.
    @Test func whatWasNotTakenIsNotSentOnceItIsForgotten() throws {
        let call = try VirtualCall()
        try call.connect()
        #expect(call.takeKeyframeRequest())
        let frame = [UInt8](repeating: 7, count: 900)
        call.history.append(
            frame: frame,
            isKeyframe: true,
            dimensions: (1280, 720),
            capturedAt: call.now,
            now: call.now
        )
        var offered = 0
        call.session.poll(at: call.now) { _ in
            offered += 1
            return false
        }
        #expect(offered == 1)
        _ = call.history.forget(takenBefore: .nanoseconds(.max))
        call.session.forgetHeld()
        call.now += .seconds(2)
        try call.exchange()
        #expect(call.viewer.packets.isEmpty)
        #expect(call.takeKeyframeRequest())
        _ = try call.append(800, isKeyframe: true)
        #expect(call.viewer.packets.count == 1)
        // With nothing held, nothing is lost.
        call.session.forgetHeld()
        call.now += .seconds(10)
        #expect(!call.takeKeyframeRequest())
    }

    @Test func aLostPictureAsksForAKeyframeOnce() throws {
        let call = try call()
        try call.connect()
        _ = try call.append(500, isKeyframe: true)
        #expect(!call.takeKeyframeRequest(), "it has just come")
        let ssrc = call.viewer.packets[0].header.ssrc
        try call.report(Feedback.pictureLoss(ssrc))
        #expect(!call.takeKeyframeRequest(), "it may still be on its way")
        call.now += .milliseconds(200)
        try call.report(Feedback.pictureLoss(ssrc))
        #expect(call.takeKeyframeRequest())
        #expect(!call.takeKeyframeRequest())
        try call.report(Feedback.pictureLoss(ssrc &+ 1))
        #expect(!call.takeKeyframeRequest(), "another stream's")
        #expect(call.statistics.keyframeRequests == 2)
    }

    @Test func feedbackInTheClearForgedOrRepeatedIsIgnored() throws {
        let call = try call()
        try call.connect()
        _ = try call.append(500, isKeyframe: true)
        let plain = Feedback.pictureLoss(call.viewer.packets[0].header.ssrc)
        let sealed = try call.viewer.protect(plain)
        var forged = sealed
        forged[forged.count - 6] ^= 1
        for datagram in [plain, forged] { call.receive(datagram) }
        #expect(call.statistics.keyframeRequests == 0)
        for _ in 0..<2 { call.receive(sealed) }
        #expect(call.statistics.keyframeRequests == 1)
    }

    @Test func goodbyesAreSaidInBothProtocols() throws {
        let call = try call()
        try call.connect()
        _ = try call.append(500, isKeyframe: true)
        var out: [[UInt8]] = []
        call.session.close(at: call.now, .closed) {
            out.append(Array($0)); return true
        }
        for datagram in out { try call.viewer.receive(datagram) }
        let packets = call.viewer.packets
        let said = call.viewer.reports.compactMap { report in
            if case .goodbye(let ssrcs) = report { ssrcs } else { nil }
        }
        #expect(said.map(\.first) == [packets[0].header.ssrc])
        #expect(said.first?.count == 2)
        #expect(call.viewer.dtls.isClosed)
        #expect(call.end == .closed)
        #expect(call.deadline == nil)
        let before = call.viewer.datagrams
        _ = try call.append(500, isKeyframe: true)
        #expect(call.viewer.datagrams == before, "nothing after the end")
    }

    @Test func theViewersGoodbyeEndsTheSession() throws {
        let call = try call()
        try call.connect()
        call.viewer.dtls.close()
        try call.exchange()
        #expect(call.end == .closedByPeer)
        call.session.pathLost()
        #expect(call.end == .closedByPeer, "the first reason stays")
    }

    @Test func theGoodbyeOfAllThatTheViewerSendsAsEndsTheSession() throws {
        let call = try call()
        try call.connect()
        try call.report(Feedback.goodbye(7))
        try call.report(Feedback.goodbye())
        #expect(call.end == nil, "another source's, and nobody's")
        try call.report(Feedback.report(from: 2))
        try call.report(Feedback.goodbye(1))
        #expect(call.end == nil, "another source goes on")
        let last = Feedback.goodbye(2, after: 2)
        call.receive(last)
        #expect(call.end == nil, "it is not protected")
        try call.report(last)
        #expect(call.end == .closedByPeer)
    }

    /// As when the buffer of the system's socket is full.
    @Test func whatIsNotTakenIsOfferedAgain() throws {
        let call = try call()
        try call.connect()
        let frame = (0..<12_000).map { UInt8(truncatingIfNeeded: $0) }
        call.history.append(
            frame: frame,
            isKeyframe: true,
            dimensions: (1280, 720),
            capturedAt: call.now,
            now: call.now
        )
        var offered: [[UInt8]] = []
        var written: UInt64 = 0
        for round in 0..<3 {
            // Takes three, and not the fourth.
            var taken = 0
            call.session.poll(at: call.now) { datagram in
                taken += 1
                if taken <= 3 { offered.append(Array(datagram)) }
                return taken <= 3
            }
            #expect(taken == 4)
            #expect(call.deadline == call.now + PeerSession.retryInterval)
            call.now += PeerSession.retryInterval
            // Nothing more is written while something waits.
            if round == 0 { written = call.statistics.packets }
            #expect(call.statistics.packets == written)
        }
        #expect(3 * 3..<DatagramBatch.limit ~= Int(written))
        call.session.poll(at: call.now) { datagram in
            offered.append(Array(datagram))
            return true
        }
        for datagram in offered { try call.viewer.receive(datagram) }
        let packets = call.viewer.packets
        // Each once, in order.
        #expect(packets.flatMap { $0.payload.dropFirst(6) } == frame)
        #expect(Set(packets.map(\.header.sequenceNumber)).count == packets.count)
        #expect(call.statistics.packets == UInt64(packets.count))
    }

    @Test func aWrongCertificateEndsTheSession() throws {
        let call = try VirtualCall()
        let stranger = try DTLSConnection(.server, identity: DTLSIdentity(), expected: [Identities.here.fingerprint])
        call.session.pathFound()
        for _ in 0..<4 {
            var out: [[UInt8]] = []
            call.session.poll(at: call.now) {
                out.append(Array($0)); return true
            }
            for datagram in out { datagram.withUnsafeBytes { stranger.receive($0) } }
            for datagram in stranger.takeDatagrams() { call.receive(datagram) }
        }
        #expect(call.end == .insecure(.wrongFingerprint))
        #expect(call.profile == nil)
    }

    @Test(arguments: [false, true])
    func aSessionWithoutKeysEndsAfterAWhile(hasPath: Bool) throws {
        let call = try call(setup: "active")
        if hasPath { call.session.pathFound() }
        let limit = VirtualCall.start + .seconds(15)
        #expect(call.deadline == limit)
        for (instant, end) in [(limit - .nanoseconds(1), nil), (limit, PeerSession.End.timeout)] {
            call.session.poll(at: instant) { _ in
                Issue.record("nobody to send to"); return true
            }
            #expect(call.end == end)
        }
        #expect(call.deadline == nil)
    }

    @Test func aFlightThatWaitsForAnAnswerIsDueSoonerThanTheEnd() throws {
        let call = try call()
        #expect(call.deadline == VirtualCall.start + .seconds(15))
        call.session.pathFound()
        let deadline = try #require(call.deadline)
        #expect(deadline <= call.now + .milliseconds(50))
    }

    @Test func aLostPathEndsTheSession() throws {
        let call = try call()
        try call.connect()
        call.session.pathLost()
        #expect(call.end == .pathLost)
        #expect(PeerSession.End.insecure(.wrongFingerprint).description.hasPrefix("was refused: "))
    }
}
