import Access
import JSON
import SocketIO
import TestSupport
import Testing
import Time
import WebRTC

@testable import Calls

@Suite struct RoomSessionTests {
    private struct Bench {
        var session = RoomSession(room: "r")
        var now = Instant.seconds(100)

        /// In the room, as the first or as the newcomer.
        init(joined: Bool = true) {
            session.connected()
            if joined { session.received(.joined(room: "r", id: "a"), now: now) }
            _ = session.takeOutputs()
        }

        mutating func receive(_ event: RoomEvent) -> [RoomSession.Output] {
            session.received(event, now: now)
            return session.takeOutputs()
        }

        mutating func receive(_ message: RoomMessage) -> [RoomSession.Output] {
            receive(.message(room: "r", message.data))
        }

        mutating func perform(_ body: (inout RoomSession) -> Void) -> [RoomSession.Output] {
            body(&session)
            return session.takeOutputs()
        }
    }

    private let sdp = "v=0\r\na=ice-ufrag:abcd\r\n"

    /// This side's introduction.
    private var hello: RoomSession.Output { emitted(.hello(RoomIntroduction())) }

    private func emitted(_ message: RoomMessage) -> RoomSession.Output { .emit(.message(room: "r", message.data)) }

    @Test func theFirstOffers() {
        var bench = Bench(joined: false)
        #expect(bench.receive(.joined(room: "r", id: "a")) == [hello])
        #expect(bench.receive(.otherJoined(room: "r", id: "b")) == [hello, .offer])
        #expect(bench.perform { $0.described("o") } == [emitted(.offer(sdp: "o"))])
        #expect(bench.receive(.answer(sdp: sdp)) == [.acceptAnswer(sdp: sdp)])
        #expect(bench.session.isConnected)
        #expect(bench.receive(.bye(room: "r", id: "b")) == [.closePeer])
        #expect(bench.receive(.otherJoined(room: "r", id: "c")) == [hello, .offer])
    }

    @Test func theNewcomerAnswers() {
        var bench = Bench()
        #expect(bench.receive(.offer(sdp: sdp)) == [.acceptOffer(sdp: sdp)])
        #expect(bench.perform { $0.described("a") } == [emitted(.answer(sdp: "a"))])
        #expect(bench.receive(.bye(room: "r", id: "b")) == [.closePeer])
        #expect(bench.receive(.offer(sdp: sdp)) == [.acceptOffer(sdp: sdp)])
    }

    @Test func offersThatCross() {
        // The first one's offer goes before the newcomer's.
        var bench = Bench()
        _ = bench.receive(.otherJoined(room: "r", id: "b"))
        #expect(bench.receive(.offer(sdp: sdp)) == [.ignored("an offer while this side's own goes before it")])
        #expect(bench.receive(.answer(sdp: sdp)) == [.acceptAnswer(sdp: sdp)])
        // Answers come once.
        #expect(bench.receive(.answer(sdp: sdp)) == [.ignored("an answer without an offer")])
        // A later offer is a new peer.
        #expect(bench.receive(.offer(sdp: sdp)) == [.closePeer, .acceptOffer(sdp: sdp)])
    }

    /// No path is left between two who are both still in the room.
    @Test(arguments: [true, false]) func whoLosesThePathOffersAgain(isFirst: Bool) {
        var bench = Bench()
        _ = isFirst ? bench.receive(.otherJoined(room: "r", id: "b")) : bench.receive(.offer(sdp: sdp))
        func lose(after seconds: Int) {
            let now = bench.now
            let outputs = bench.perform { $0.peerEnded(.lost, "is lost", isFinal: false, now: now) }
            #expect(outputs == [.closePeer, .parted(.lost, why: "is lost")])
            #expect(bench.session.nextDeadline == now + .seconds(isFirst ? seconds : 2 * seconds))
        }
        for seconds in [1, 2, 4, 8, 16, 30, 30] {
            lose(after: seconds)
            bench.now = bench.session.nextDeadline!
            let now = bench.now
            #expect(bench.perform { $0.tick(now: now) } == [.offer])
            #expect(bench.session.nextDeadline == nil)
        }
        _ = bench.perform { $0.peerConnected() }
        lose(after: 1)
        // The other one offers first, or is gone.
        #expect(bench.receive(.offer(sdp: sdp)) == [.acceptOffer(sdp: sdp)])
        #expect(bench.session.nextDeadline == nil)
        lose(after: 2)
        _ = bench.receive(.otherJoined(room: "r", id: "c"))
        #expect(bench.session.nextDeadline == nil)
    }

    @Test func candidatesWaitForTheirDescription() {
        var bench = Bench()
        let lines = (0..<70).map { "candidate:\($0) 1 udp 1 10.0.0.1 9 typ host" }
        for line in lines { #expect(bench.receive(.candidate(line: line)) == []) }
        let held = lines.prefix(64).map { RoomSession.Output.addCandidate(line: $0) }
        #expect(bench.receive(.offer(sdp: sdp)) == [.acceptOffer(sdp: sdp)] + held)
        let old = "candidate:1 1 udp 1 10.0.0.1 9 typ host ufrag zzzz"
        #expect(
            bench.receive(.candidate(line: old)) == [
                .ignored("a candidate of an earlier description")
            ]
        )
        let new = "candidate:1 1 udp 1 10.0.0.1 9 typ host ufrag abcd network-cost 10"
        #expect(
            bench.receive(.candidate(line: new)) == [.addCandidate(line: new)]
        )
        #expect(bench.receive(.candidate(line: "")) == [])
        _ = bench.receive(.bye(room: "r", id: "b"))
        #expect(
            bench.receive(.candidate(line: new)) == [.ignored("a candidate while nobody is there")]
        )
    }

    @Test func leavingWhileNegotiating() {
        var bench = Bench()
        _ = bench.receive(.offer(sdp: sdp))
        #expect(bench.perform { $0.leave() } == [.emit(.leave(room: "r")), .closePeer])
        #expect(bench.perform { $0.described("late") } == [])
        for event in [RoomEvent.bye(room: "r", id: "b"), .otherJoined(room: "r", id: "b")] {
            #expect(bench.receive(event).allSatisfy { if case .ignored = $0 { true } else { false } })
        }
        #expect(bench.receive(.leaved(room: "r", id: "a")) == [.ended(.left)])
    }

    @Test func fullRoomsAndLostSeats() {
        var bench = Bench(joined: false)
        #expect(bench.receive(.full(room: "r", id: "a")) == [.ended(.full)])
        // After a loss, the seat may be this member's own.
        bench = Bench()
        #expect(bench.perform { $0.lost(now: .seconds(100)) } == [])
        #expect(bench.perform { $0.connected() } == [.emit(.join(room: "r"))])
        for second in 100..<145 {
            bench.now = .seconds(Double(second))
            #expect(bench.receive(.full(room: "r", id: "a2")) == [])
            let at = bench.session.nextDeadline
            #expect(at == bench.now + .seconds(1))
            #expect(bench.perform { $0.tick(now: at ?? .start) } == [.emit(.join(room: "r"))])
        }
        bench.now = .seconds(145)
        #expect(bench.receive(.full(room: "r", id: "a2")) == [.ended(.full)])
    }

    @Test func theConnectionComesBack() {
        var bench = Bench()
        _ = bench.receive(.offer(sdp: sdp))
        #expect(bench.perform { $0.lost(now: .seconds(100)) } == [])
        #expect(bench.perform { $0.connected() } == [.emit(.join(room: "r"))])
        // The peer was there until now.
        #expect(bench.receive(.joined(room: "r", id: "a2")) == [.closePeer, hello])
        #expect(bench.receive(.otherJoined(room: "r", id: "b")) == [hello, .offer])
    }

    @Test func whatDoesNotBelongHereDoesNothing() {
        var bench = Bench()
        for event in [
            RoomEvent.joined(room: "x", id: "a"), .otherJoined(room: "x", id: "b"), .join(room: "r"), .leave(room: "r"),
        ] {
            #expect(bench.receive(event) == [.ignored("an event of another room, or that no server sends")])
        }
        #expect(
            bench.receive(.message(room: "r", JSONText(1))) == [
                .ignored("a message that is no offer, answer or candidate")
            ]
        )
        #expect(bench.receive(.answer(sdp: sdp)) == [.ignored("an answer without an offer")])
        #expect(bench.receive(.leaved(room: "r", id: "a")) == [.closePeer, .ended(.sentAway)])
    }

    /// Whatever comes, a peer is made where there is none, and used only until it is closed; and where people are let in one by one,
    /// never for somebody else.
    /// Invariant: admitted.
    @Test(arguments: 1...10, [true, false]) func aRandomWalkKeepsThePeerInOrder(seed: UInt64, asks: Bool) {
        var random = SplitMix(seed: seed)
        var introduction = RoomIntroduction()
        (introduction.asks, introduction.receives) = (asks, true)
        var session = RoomSession(room: "r", introduction)
        var (isOpen, isLetIn, isAsked) = (false, !asks, false)
        for step in 0..<2000 {
            let now = Instant.seconds(Double(step) / 2)
            func receive(_ message: RoomMessage) { session.received(.message(room: "r", message.data), now: now) }
            switch Int.random(in: 0..<21, using: &random) {
            case 0: session.connected()
            case 1: session.lost(now: now)
            case 2, 3: session.received(.joined(room: "r", id: "a"), now: now)
            case 4, 5: session.received(.otherJoined(room: "r", id: "b"), now: now)
            case 6: session.received(.bye(room: "r", id: "b"), now: now)
            case 7: session.received(.full(room: "r", id: "b"), now: now)
            case 8: receive(.offer(sdp: sdp))
            case 9: receive(.answer(sdp: sdp))
            case 10: receive(.candidate(line: "candidate:1"))
            case 11: session.described("x")
            case 12:
                var other = RoomIntroduction()
                other.name = [nil, "b"].randomElement(using: &random)!
                (other.asks, other.receives) = (.random(using: &random), .random(using: &random))
                receive(.hello(other))
            case 13: receive(.end([.hungUp, .kicked, .rejected, .lost].randomElement(using: &random)!, to: nil))
            case 14: session.peerEnded(.lost, "is lost", isFinal: .random(using: &random), now: now)
            case 15 where isOpen && isLetIn: session.peerConnected()
            case 16 where isAsked:
                let answer: KnockAnswer? = [.accepted, .rejected, .noAnswer, nil].randomElement(using: &random)!
                (isAsked, isLetIn) = (false, answer == .accepted)
                session.answered(answer)
            case 17: session.kick()
            case 18: session.heard(at: now)
            case 19: receive(.skip(milliseconds: 100))
            default: session.tick(now: now)
            }
            for output in session.takeOutputs() {
                switch output {
                case .offer, .acceptOffer:
                    #expect(!isOpen && isLetIn)
                    isOpen = true
                case .closePeer: isOpen = false
                case .ask:
                    #expect(asks && !isAsked)
                    (isAsked, isLetIn) = (true, false)
                case .askNoMore:
                    #expect(isAsked)
                    isAsked = false
                case .acceptAnswer, .addCandidate, .skipSound: #expect(isOpen && isLetIn)
                case .emit, .recognize, .listen, .waiting, .pointless, .parted, .turnedAway, .ignored, .ended: break
                }
            }
        }
    }

    /// Members of programs in use write the same in other ways.
    @Test func messagesOfOtherPrograms() {
        func message(_ text: String) -> RoomMessage? { JSONText(text.utf8).flatMap { RoomMessage($0) } }
        #expect(message(#"{"type":"offer","sdp":"v=0\r\n"}"#) == .offer(sdp: "v=0\r\n"))
        #expect(
            message(#"{"type":"candidate","label":"1","id":"v","sdp":"candidate:1"}"#)
                == .candidate(line: "candidate:1")
        )
        #expect(
            message(#"{"type":"candidate","label":0,"id":"0","candidate":"candidate:2"}"#)
                == .candidate(line: "candidate:2")
        )
        for text in [
            "1", "{}", #"{"type":"oriel"}"#, #"{"type":"oriel","event":"end"}"#,
            #"{"type":"oriel","event":"end","reason":"x"}"#,
            #"{"type":"oriel","event":"skip"}"#, #"{"type":"oriel","event":"skip","milliseconds":"240"}"#,
            #"{"type":"oriel","event":"skip","milliseconds":19}"#,
            #"{"type":"oriel","event":"skip","milliseconds":5001}"#,
            #"{"type":"oriel","event":"skip","milliseconds":-240}"#,
            #"{"type":"oriel","event":"skip","milliseconds":240.5}"#,
            #"{"type":"oriel","event":"skip","milliseconds":99999999999999999999}"#,
            #"{"type":"oriel","event":1}"#, #"{"type":"offer"}"#, #"{"type":"answer","sdp":1}"#,
            #"{"type":"candidate"}"#, #"{"type":"x"}"#,
        ] {
            #expect(message(text) == nil)
        }
        var introduction = RoomIntroduction()
        (introduction.name, introduction.note) = ("Ann \"\u{1}\"", "é")
        (introduction.asks, introduction.receives) = (true, true)
        introduction.fingerprint = Fingerprint(.sha256, Array(1...32))
        for kind in [
            RoomMessage.offer(sdp: "a\r\n\"b\""), .answer(sdp: ""), .candidate(line: "c"),
            .hello(introduction), .hello(RoomIntroduction()), .end(.noAnswer, to: nil), .end(.busy, to: "x"),
            .skip(milliseconds: 20), .skip(milliseconds: 5000),
        ] {
            #expect(RoomMessage(kind.data) == kind)
        }
    }
}
