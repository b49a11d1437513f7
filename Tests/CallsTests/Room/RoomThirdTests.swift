import Access
import JSON
import SocketIO
import TestSupport
import Testing
import Time
import WebRTC

@testable import Calls

/// A room of more than two seats: a third member hears all and may say all. What two have with each other is none of its business.
@Suite struct RoomThirdTests {
    private let line = "candidate:1 1 udp 1 10.0.0.1 9 typ host"

    /// A session in a room, to which others say something.
    private struct Bench {
        var session: RoomSession
        var now = Instant.seconds(100)

        init(asks: Bool) {
            var introduction = RoomIntroduction()
            (introduction.name, introduction.asks, introduction.receives) = ("", asks, true)
            session = RoomSession(room: "r", introduction)
            session.connected()
            session.received(.joined(room: "r", id: "a"), now: now)
            _ = session.takeOutputs()
        }

        /// What a person or a peer has to do.
        mutating func take() -> [RoomSession.Output] {
            session.takeOutputs().filter {
                switch $0 {
                case .emit, .ignored: false
                default: true
                }
            }
        }

        mutating func receive(_ event: RoomEvent) -> [RoomSession.Output] {
            session.received(event, now: now)
            return take()
        }

        /// - Parameter sender: nil where the server does not say.
        mutating func receive(_ message: RoomMessage, from sender: String? = nil) -> [RoomSession.Output] {
            if let sender { session.received(.sender(room: "r", id: sender), now: now) }
            return receive(.message(room: "r", message.data))
        }

        mutating func wait(_ duration: Duration) -> [RoomSession.Output] {
            now = now + duration
            session.tick(now: now)
            return take()
        }

        /// Program `b` comes, and is let in where that is asked.
        mutating func letIn(asks: Bool) {
            _ = receive(.otherJoined(room: "r", id: "b"))
            guard asks else { return }
            _ = wait(.seconds(2))
            session.answered(.accepted)
            _ = take()
        }
    }

    // MARK: - Who is let in

    /// Of a program that shows no certificate before the offer, the server says what it answers.
    @Test(arguments: [true, false]) func aThirdDoesNotAnswerForTheOneWhoIsLetIn(asks: Bool) {
        var bench = Bench(asks: asks)
        bench.letIn(asks: asks)
        bench.session.described("o")
        _ = bench.take()
        #expect(bench.receive(.answer(sdp: RoomMeeting.sdp(9)), from: "t") == [])
        #expect(bench.receive(.candidate(line: line), from: "t") == [])
        #expect(bench.receive(.offer(sdp: RoomMeeting.sdp(9)), from: "t") == [])
        let answer = RoomMeeting.sdp(1)
        #expect(bench.receive(.answer(sdp: answer), from: "b") == [.acceptAnswer(sdp: answer)])
    }

    /// A certificate is named by several hashes, or by one: it is the same only if all are.
    @Test func whoeverIsLetInKeepsItsCertificate() {
        var bench = Bench(asks: true)
        bench.letIn(asks: true)
        bench.session.described("o")
        func fingerprint(_ number: UInt8) -> String { "a=fingerprint:\(RoomMeeting.fingerprint(number))\r\n" }
        let answer = RoomMeeting.sdp(1) + fingerprint(2)
        #expect(bench.receive(.answer(sdp: answer)).last == .acceptAnswer(sdp: answer))
        bench.session.peerEnded(.failed, "is lost", isFinal: false, now: bench.now)
        _ = bench.take()
        for other in [RoomMeeting.sdp(1), RoomMeeting.sdp(3) + fingerprint(1) + fingerprint(2)] {
            var bench = bench
            let outputs = bench.receive(.offer(sdp: other))
            #expect(outputs.contains { if case .ask = $0 { true } else { false } })
            #expect(!outputs.contains(.acceptOffer(sdp: other)))
        }
        #expect(bench.receive(.offer(sdp: answer)) == [.acceptOffer(sdp: answer)])
    }

    /// A person is asked about a connection; what then offers is another question.
    @Test func anOfferWhileSomebodyIsAskedAboutIsAskedAboutItself() {
        var bench = Bench(asks: true)
        _ = bench.receive(.otherJoined(room: "r", id: "b"))
        #expect(bench.wait(.seconds(2)) == [.ask(name: "b", note: "", certificate: nil)])
        let (one, two) = (RoomMeeting.sdp(1), RoomMeeting.sdp(2))
        #expect(
            bench.receive(.offer(sdp: one)) == [
                .askNoMore, .ask(name: "b", note: "", certificate: RoomMeeting.fingerprint(1)),
            ]
        )
        #expect(bench.receive(.offer(sdp: two)) == [])
        bench.session.answered(.accepted)
        #expect(bench.take() == [.acceptOffer(sdp: one)])
    }

    @Test func anIntroductionWithoutACertificateLetsNobodyIn() {
        var bench = Bench(asks: true)
        _ = bench.receive(.otherJoined(room: "r", id: "b"))
        var introduction = RoomIntroduction()
        (introduction.name, introduction.receives) = ("Ann", true)
        #expect(bench.receive(.hello(introduction)) == [])
        #expect(bench.wait(.seconds(2)) == [.ask(name: "b", note: "", certificate: nil)])
    }

    /// The path to the one who was let in is lost, and it would be offered another one.
    @Test func whoComesMeanwhileIsOfferedNothing() {
        var bench = Bench(asks: true)
        bench.letIn(asks: true)
        bench.session.described("o")
        _ = bench.receive(.answer(sdp: RoomMeeting.sdp(1)), from: "b")
        bench.session.peerConnected()
        bench.session.peerEnded(.lost, "is lost", isFinal: false, now: bench.now)
        _ = bench.take()
        #expect(bench.receive(.otherJoined(room: "r", id: "c")) == [])
        #expect(bench.wait(.seconds(1)) == [])
        #expect(bench.wait(.seconds(1)) == [.ask(name: "c", note: "", certificate: nil)])
        #expect(bench.wait(.seconds(100)) == [])
    }

    /// Whoever was there before and said nothing says it is another one.
    @Test(arguments: [true, false]) func aThirdDoesNotKnockForTheOneWhoHasCome(isNamed: Bool) {
        var bench = Bench(asks: true)
        _ = bench.receive(.otherJoined(room: "r", id: "b"))
        func hello(_ number: UInt8) -> RoomMessage {
            var introduction = RoomIntroduction()
            (introduction.name, introduction.receives) = ("Ann", true)
            introduction.fingerprint = RoomMeeting.fingerprint(number)
            return .hello(introduction)
        }
        let ask = RoomSession.Output.ask(name: "Ann", note: "", certificate: RoomMeeting.fingerprint(1))
        if isNamed { #expect(bench.receive(hello(9), from: "t") == []) }
        #expect(bench.receive(hello(1), from: isNamed ? "b" : nil) == [ask])
        #expect(bench.receive(hello(9), from: isNamed ? "t" : nil) == [])
        bench.session.answered(.accepted)
        #expect(bench.take() == [.offer] || bench.session.isConnected)
        #expect(bench.receive(.answer(sdp: RoomMeeting.sdp(9))) == [])
        #expect(bench.receive(.answer(sdp: RoomMeeting.sdp(1))) == [.acceptAnswer(sdp: RoomMeeting.sdp(1))])
    }

    // MARK: - What stands

    @Test(arguments: [EndReason.busy, .rejected, .noAnswer, .hungUp, .kicked], [true, false])
    func aThirdEndsNoCall(reason: EndReason, isNamed: Bool) {
        var bench = talking(isNamed: isNamed, isNewcomer: true)
        #expect(bench.receive(.end(reason, to: nil), from: isNamed ? "t" : nil) == [])
        #expect(bench.wait(.seconds(30)) == [])
        #expect(bench.session.isConnected)
    }

    /// Where the server does not say whose words it are, the end of the path does.
    @Test(arguments: [EndReason.hungUp, .kicked]) func theOthersWordsCountWhenThePathEnds(reason: EndReason) {
        var bench = talking(isNamed: false, isNewcomer: false)
        _ = bench.receive(.end(reason, to: nil))
        bench.now = bench.now + .seconds(9)
        bench.session.peerEnded(.lost, "is lost", isFinal: false, now: bench.now)
        let end: RoomSession.Output = reason == .kicked ? .ended(.dismissed(.kicked)) : .parted(.hungUp, why: nil)
        #expect(bench.take() == [.closePeer, end])
    }

    @Test func wordsOfLongAgoDoNotCount() {
        var bench = talking(isNamed: false, isNewcomer: false)
        _ = bench.receive(.end(.kicked, to: nil))
        bench.now = bench.now + .seconds(10)
        bench.session.peerEnded(.lost, "is lost", isFinal: false, now: bench.now)
        #expect(bench.take() == [.closePeer, .parted(.lost, why: "is lost")])
    }

    /// Some programs send no feedback.
    @Test func whoSaysNothingIsNotReplacedByAThird() {
        var bench = talking(isNamed: true, isNewcomer: true)
        #expect(bench.receive(.otherJoined(room: "r", id: "t")) == [])
        #expect(bench.wait(.seconds(3)) == [.listen])
        bench.session.heard(at: nil)
        #expect(bench.wait(.seconds(1)) == [.turnedAway])
        #expect(bench.session.isConnected)
    }

    @Test(arguments: [true, false]) func aThirdsOfferCostsNoPicture(isNamed: Bool) {
        var bench = talking(isNamed: isNamed, isNewcomer: true)
        let other = RoomMeeting.sdp(9)
        #expect(bench.receive(.offer(sdp: other), from: isNamed ? "t" : nil) == [])
        guard !isNamed else { return #expect(bench.session.nextDeadline == nil) }
        // The connected one is heard afterwards.
        #expect(bench.wait(.seconds(3)) == [.listen])
        bench.session.heard(at: bench.now)
        #expect(bench.wait(.seconds(1)) == [.turnedAway])
        #expect(bench.session.isConnected)
    }

    /// Nor does the one who is connected end it for good by offers without end.
    @Test(arguments: [true, false]) func anotherPeerIsMadeAfterTooMany(isNewcomer: Bool) {
        var bench = talking(isNamed: true, isNewcomer: isNewcomer)
        let offer = RoomMessage.offer(sdp: RoomMeeting.sdp(1))
        let made: [RoomSession.Output] = [.acceptOffer(sdp: RoomMeeting.sdp(1))]
        #expect(bench.receive(offer, from: "b") == [.closePeer] + made)
        bench.session.peerRefused(now: bench.now)
        #expect(bench.take() == [.closePeer, .parted(.lost, why: "has made more offers than one call needs")])
        // It goes on.
        #expect(bench.receive(offer, from: "b") == made)
        bench.session.peerRefused(now: bench.now)
        #expect(bench.take() == [.closePeer])
        #expect(bench.wait(.seconds(9)) == [])
        #expect(bench.wait(.seconds(1)) == [.offer])
    }

    /// A program was started again, and nobody has told its end.
    @Test func anOfferTakesThePlaceOfOneWhoIsSilent() {
        var bench = talking(isNamed: false, isNewcomer: true)
        let other = RoomMeeting.sdp(9)
        #expect(bench.receive(.offer(sdp: other)) == [])
        #expect(bench.wait(.seconds(3)) == [.listen])
        #expect(
            bench.wait(.seconds(1)) == [.parted(.lost, why: nil), .closePeer, .acceptOffer(sdp: other)]
        )
    }

    @Test func aThirdWhoSaidNothingGoesUnnoticed() {
        var bench = talking(isNamed: true, isNewcomer: false)
        #expect(bench.receive(.bye(room: "r", id: "t")) == [])
        #expect(bench.receive(.bye(room: "r", id: "b")) == [.closePeer, .parted(.hungUp, why: "has left")])
    }

    /// The server says who speaks in a room with more than two seats, and there alone.
    @Test(arguments: [2, 3]) func theServerNamesSenders(capacity: Int) {
        var limits = RoomServer.Limits()
        limits.capacity = capacity
        var server = RoomServer(limits: limits)
        for client in ["a", "b"] {
            server.connected(client, nil)
            server.received(RoomEvent.join(room: "r").packet(), from: client)
        }
        _ = server.takeOutputs()
        let message = RoomEvent.message(room: "r", JSONText(1)).packet()
        server.received(message, from: "a")
        let named: [RoomServer.Output] = [.send(.sender(room: "r", id: "a"), client: "b")]
        #expect(server.takeOutputs() == (capacity > 2 ? named : []) + [.relay(message, client: "b")])
        #expect(RoomEvent(RoomEvent.sender(room: "r", id: "a").packet()) == .sender(room: "r", id: "a"))
        // No client may say so.
        server.received(RoomEvent.sender(room: "r", id: "b").packet(), from: "a")
        #expect(server.takeOutputs() == [.ignored(client: "a", "an event that no client sends")])
    }

    /// A call with program `b`.
    private func talking(isNamed: Bool, isNewcomer: Bool) -> Bench {
        var bench = Bench(asks: false)
        let (sdp, sender) = (RoomMeeting.sdp(1), isNamed ? "b" : nil)
        if isNewcomer {
            _ = bench.receive(.offer(sdp: sdp), from: sender)
            bench.session.described("a")
        } else {
            _ = bench.receive(.otherJoined(room: "r", id: "b"))
            bench.session.described("o")
            _ = bench.receive(.answer(sdp: sdp), from: sender)
        }
        bench.session.peerConnected()
        _ = bench.take()
        return bench
    }
}
