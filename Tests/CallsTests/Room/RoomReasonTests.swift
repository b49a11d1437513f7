import Access
import SocketIO
import TestSupport
import Testing
import Time
import WebRTC

@testable import Calls

/// Two of Oriel in a room: whether they are connected, and what each learns of why not, or not any more.
@Suite struct RoomReasonTests {
    private func areConnected(_ meeting: RoomMeeting, _ members: Int...) -> Bool {
        members.allSatisfy { meeting.members[$0].isConnected && meeting.members[$0].session.isConnected }
    }

    private func ask(_ name: String, _ note: String = "", of member: UInt8) -> RoomSession.Output {
        .ask(name: name, note: note, certificate: RoomMeeting.fingerprint(member))
    }

    // MARK: - Ends

    @Test(arguments: [0, 1]) func whoHangsUpSaysSo(leaver: Int) {
        var meeting = RoomMeeting()
        for _ in 0..<2 { meeting.add() }
        #expect(areConnected(meeting, 0, 1))
        meeting.change(leaver) { session, _ in session.leave() }
        meeting.wait(.seconds(10))
        #expect(meeting.told(leaver) == [.ended(.left)])
        #expect(meeting.told(1 - leaver) == [.parted(.hungUp, why: nil)])
        #expect(!meeting.members[1 - leaver].isConnected)
    }

    /// The server misses it, as it is silent or its connection is closed.
    @Test(arguments: [0, 1]) func whoIsLostIsSaidToBe(lost: Int) {
        var meeting = RoomMeeting()
        for _ in 0..<2 { meeting.add() }
        meeting.kill(lost)
        meeting.wait(.seconds(10))
        #expect(meeting.told(1 - lost) == [.parted(.lost, why: nil)])
    }

    /// The media tells it before the server does, or alone.
    @Test func whoIsOutOfReachIsSaidToBe() {
        var meeting = RoomMeeting()
        for _ in 0..<2 { meeting.add() }
        meeting.members[0].isConnected = false
        meeting.change(0) { session, now in
            session.peerEnded(.lost, "is out of reach", isFinal: false, now: now)
        }
        #expect(meeting.told(0) == [])
        meeting.kill(1)
        #expect(meeting.told(0) == [.parted(.lost, why: "is out of reach")])
        meeting.wait(.seconds(10))
        #expect(meeting.told(0).count == 1)
    }

    @Test(arguments: [0, 1]) func whoIsSentAwayLeavesAndSaysWhy(kicker: Int) {
        var meeting = RoomMeeting()
        for _ in 0..<2 { meeting.add() }
        meeting.change(kicker) { session, _ in session.kick() }
        #expect(meeting.told(1 - kicker) == [.ended(.dismissed(.kicked))])
        #expect(meeting.told(kicker) == [.parted(.kicked, why: nil)])
        meeting.wait(.seconds(100))
        #expect(meeting.told(kicker).count == 1)
        // Whoever comes next is another one.
        meeting.add()
        #expect(areConnected(meeting, kicker, 2))
    }

    /// Whoever is not in the call cannot end it.
    @Test func aStrangerSendsNobodyAway() {
        var meeting = RoomMeeting()
        meeting.add(asks: true)
        meeting.add(name: "Eve")
        for reason in [EndReason.kicked, .lost, .ended, .failed] { meeting.say(.end(reason, to: nil), by: 1) }
        #expect(meeting.told(0) == [ask("Eve", of: 1)])
    }

    @Test func whoComesBackIsMetAgain() {
        var meeting = RoomMeeting()
        for _ in 0..<2 { meeting.add() }
        for member in [0, 1, 1, 0] {
            meeting.cut(member)
            meeting.wait(.seconds(1))
            meeting.connect(member)
            meeting.wait(.seconds(1))
            #expect(areConnected(meeting, 0, 1))
        }
    }

    // MARK: - Letting in

    @Test(arguments: [true, false]) func whoIsAcceptedIsConnected(askerIsFirst: Bool) {
        var meeting = RoomMeeting()
        if askerIsFirst { meeting.add(asks: true) } else { meeting.add(name: "Ann", note: "hi") }
        if askerIsFirst { meeting.add(name: "Ann", note: "hi") } else { meeting.add(asks: true) }
        let (asker, ann) = askerIsFirst ? (0, 1) : (1, 0)
        #expect(meeting.told(asker) == [ask("Ann", "hi", of: UInt8(ann))])
        #expect(meeting.told(ann) == [.waiting])
        meeting.wait(.seconds(1000))
        #expect(!meeting.members[asker].isConnected)
        meeting.change(asker) { session, _ in session.answered(.accepted) }
        #expect(areConnected(meeting, 0, 1))
        // Once.
        meeting.change(asker) { session, _ in session.answered(.rejected) }
        #expect(areConnected(meeting, 0, 1))
    }

    @Test(
        arguments: [(.rejected, .rejected), (.noAnswer, .noAnswer), (nil, .busy)] as [(KnockAnswer?, EndReason)],
        [true, false]
    )
    func whoIsNotLetInLearnsWhy(outcome: (KnockAnswer?, EndReason), askerIsFirst: Bool) {
        var meeting = RoomMeeting()
        if askerIsFirst { meeting.add(asks: true) }
        meeting.add(name: "Ann")
        if !askerIsFirst { meeting.add(asks: true) }
        let (asker, ann) = askerIsFirst ? (0, 1) : (1, 0)
        meeting.change(asker) { session, _ in session.answered(outcome.0) }
        // Who came asks no more; who was there first may wait for another one.
        let end: RoomSession.Output = askerIsFirst ? .ended(.dismissed(outcome.1)) : .parted(outcome.1, why: nil)
        #expect(meeting.told(ann) == [.waiting, end])
        meeting.wait(.seconds(100))
        #expect(meeting.told(ann).count == 2 && meeting.told(asker).count == 1)
        #expect(!meeting.members[0].isConnected && !meeting.members[1].isConnected)
    }

    @Test func bothMayAsk() {
        for order in [[0, 1], [1, 0]] {
            var meeting = RoomMeeting()
            meeting.add(name: "Ann", asks: true)
            meeting.add(name: "Bob", asks: true)
            #expect(meeting.told(0).contains(ask("Bob", of: 1)) && meeting.told(1).contains(ask("Ann", of: 0)))
            meeting.change(order[0]) { session, _ in session.answered(.accepted) }
            #expect(!areConnected(meeting, 0) && !areConnected(meeting, 1))
            meeting.change(order[1]) { session, _ in session.answered(.accepted) }
            #expect(areConnected(meeting, 0, 1))
        }
    }

    /// A page has its person write a name first.
    @Test func aNameMayComeLater() {
        var meeting = RoomMeeting()
        meeting.add(asks: true)
        meeting.add(name: nil)
        meeting.wait(.seconds(1000))
        #expect(meeting.told(0) == [] && meeting.told(1) == [.waiting])
        var introduction = RoomIntroduction()
        (introduction.name, introduction.receives) = ("Ann", true)
        introduction.fingerprint = RoomMeeting.fingerprint(1)
        meeting.say(.hello(introduction), by: 1)
        #expect(meeting.told(0) == [ask("Ann", of: 1)])
    }

    /// Invariant: admitted.
    @Test(arguments: [true, false]) func whoIsKnownNeedsNoName(askerIsFirst: Bool) {
        for cheats in [true, false] {
            var meeting = RoomMeeting()
            meeting.known = [RoomMeeting.fingerprint(askerIsFirst ? 1 : 0)]
            if askerIsFirst { meeting.add(asks: true) }
            meeting.add(name: nil, cheats: cheats)
            if !askerIsFirst { meeting.add(asks: true) }
            #expect(areConnected(meeting, 0, 1) == !cheats)
        }
    }

    @Test(arguments: [true, false]) func whoGoesIsAskedAboutNoMore(isCut: Bool) {
        var meeting = RoomMeeting()
        meeting.add(asks: true)
        meeting.add(name: "Ann")
        if isCut { meeting.kill(1) } else { meeting.change(1) { session, _ in session.leave() } }
        #expect(meeting.told(0) == [ask("Ann", of: 1), .askNoMore])
        meeting.change(0) { session, _ in session.answered(.accepted) }
        #expect(!meeting.members[0].session.isConnected)
    }

    /// A certificate is no secret: whoever names that of another one is not connected to.
    /// Invariant: admitted.
    @Test(arguments: [true, false]) func whoShowsAnotherCertificateIsNotConnected(askerIsFirst: Bool) {
        var meeting = RoomMeeting()
        if askerIsFirst { meeting.add(asks: true) }
        meeting.add(name: "Ann", cheats: true)
        if !askerIsFirst { meeting.add(asks: true) }
        meeting.change(askerIsFirst ? 0 : 1) { session, _ in session.answered(.accepted) }
        #expect(!meeting.members[0].isConnected && !meeting.members[1].isConnected)
    }

    // MARK: - Programs of others

    @Test func aProgramThatCannotKnockIsAskedAboutByItsConnection() {
        var session = RoomSession(room: "r", introduction(asks: true))
        func take() -> [RoomSession.Output] {
            session.takeOutputs().filter { if case .emit = $0 { false } else { true } }
        }
        session.connected()
        session.received(.joined(room: "r", id: "a"), now: .seconds(1))
        session.received(.otherJoined(room: "r", id: "b"), now: .seconds(1))
        #expect(take() == [])
        // It may yet introduce itself.
        #expect(session.nextDeadline == .seconds(3))
        session.tick(now: .seconds(3))
        #expect(take() == [.ask(name: "b", note: "", certificate: nil)])
        session.answered(.noAnswer)
        session.received(.message(room: "r", RoomMessage.offer(sdp: RoomMeeting.sdp(1)).data), now: .seconds(4))
        #expect(take() == [])
        session.received(.bye(room: "r", id: "b"), now: .seconds(5))
        session.received(.otherJoined(room: "r", id: "c"), now: .seconds(5))
        session.tick(now: .seconds(7))
        session.answered(.accepted)
        #expect(take() == [.closePeer, .ask(name: "c", note: "", certificate: nil), .offer])
    }

    /// Who was there first offers; a later offer of another certificate is another question.
    @Test func anOfferThatComesUnannouncedIsAQuestion() {
        var session = RoomSession(room: "r", introduction(asks: true))
        func receive(_ message: RoomMessage) -> [RoomSession.Output] {
            session.received(.message(room: "r", message.data), now: .seconds(1))
            return session.takeOutputs()
        }
        session.connected()
        session.received(.joined(room: "r", id: "a"), now: .seconds(1))
        _ = session.takeOutputs()
        let (one, two) = (RoomMeeting.sdp(1), RoomMeeting.sdp(2))
        #expect(receive(.offer(sdp: one)) == [.ask(name: "", note: "", certificate: RoomMeeting.fingerprint(1))])
        let line = "candidate:1 1 udp 1 10.0.0.1 9 typ host"
        #expect(receive(.candidate(line: line)) == [])
        session.answered(.accepted)
        #expect(session.takeOutputs() == [.acceptOffer(sdp: one), .addCandidate(line: line)])
        session.described("x")
        session.peerConnected()
        _ = session.takeOutputs()
        #expect(receive(.offer(sdp: one)) == [.closePeer, .acceptOffer(sdp: one)])
        session.received(.sender(room: "r", id: "b"), now: .seconds(1))
        #expect(
            receive(.offer(sdp: two)) == [
                .closePeer, .ask(name: "b", note: "", certificate: RoomMeeting.fingerprint(2)),
            ]
        )
        session.answered(.rejected)
        #expect(session.takeOutputs() == [])
        #expect(receive(.offer(sdp: two)) == [.ignored("an offer of one who is not let in")])
    }

    /// It is told nothing that it could not understand.
    @Test func aProgramThatIsNotOrielIsToldNothing() {
        var session = RoomSession(room: "r")
        session.connected()
        session.received(.joined(room: "r", id: "a"), now: .seconds(1))
        session.received(.otherJoined(room: "r", id: "b"), now: .seconds(1))
        _ = session.takeOutputs()
        session.peerConnected()
        session.kick()
        #expect(session.takeOutputs() == [.closePeer, .parted(.kicked, why: nil)])
        session.leave()
        #expect(session.takeOutputs() == [.emit(.leave(room: "r"))])
    }

    @Test func aProgramThatIsNotOrielHasLeft() {
        var session = RoomSession(room: "r")
        session.connected()
        session.received(.joined(room: "r", id: "a"), now: .seconds(1))
        session.received(.otherJoined(room: "r", id: "b"), now: .seconds(1))
        session.peerConnected()
        _ = session.takeOutputs()
        session.received(.bye(room: "r", id: "b"), now: .seconds(2))
        #expect(session.takeOutputs() == [.closePeer, .parted(.hungUp, why: "has left")])
    }

    private func introduction(asks: Bool) -> RoomIntroduction {
        var introduction = RoomIntroduction()
        (introduction.name, introduction.asks, introduction.receives) = ("", asks, true)
        return introduction
    }

    // MARK: - Thirds

    @Test func aThirdFindsABusyRoom() {
        var meeting = RoomMeeting(capacity: 4)
        for _ in 0..<2 { meeting.add() }
        meeting.add(name: "Eve")
        #expect(meeting.told(2) == [])
        meeting.wait(.seconds(10))
        #expect(meeting.told(2) == [.ended(.dismissed(.busy))])
        // The two go on.
        #expect(areConnected(meeting, 0, 1))
        // It has left when one of them has said so.
        #expect(meeting.told(0) + meeting.told(1) == [.turnedAway])
        meeting.change(1) { session, _ in session.leave() }
        meeting.add()
        #expect(areConnected(meeting, 0, 3))
    }

    /// Its end was told by nobody.
    @Test func whoComesBackUnnoticedIsConnectedAgain() {
        var meeting = RoomMeeting(capacity: 4)
        for _ in 0..<2 { meeting.add() }
        meeting.isHeard = false
        meeting.members[1].id = ""
        meeting.members[1].isConnected = false
        meeting.add()
        meeting.wait(.seconds(10))
        #expect(areConnected(meeting, 0, 2))
        #expect(meeting.told(0) == [.parted(.lost, why: nil)])
    }

    @Test func aThirdTakesThePlaceOfWhoGoes() {
        var meeting = RoomMeeting(capacity: 4)
        for _ in 0..<2 { meeting.add() }
        meeting.add()
        meeting.change(1) { session, _ in session.leave() }
        meeting.wait(.seconds(10))
        #expect(areConnected(meeting, 0, 2))
    }

    // MARK: - Nothing to see

    @Test func twoWhoShowNothingKeepTheRoomQuietly() {
        var meeting = RoomMeeting()
        meeting.add(receives: false)
        meeting.add(receives: false)
        meeting.wait(.seconds(3600))
        #expect(meeting.told(0) == [.pointless] && meeting.told(1) == [.pointless])
        #expect(meeting.members[0].session.nextDeadline == nil && meeting.members[1].session.nextDeadline == nil)
        #expect(!meeting.members[0].isConnected && !meeting.members[1].isConnected)
        meeting.kill(1)
        meeting.add(receives: true)
        #expect(areConnected(meeting, 0, 2))
    }

    /// Each of them has offered before it knew of the other.
    @Test(arguments: [true, false]) func anOfferOfNoUseIsIgnoredAndToldUnlessTheTwoRest(receives: Bool) {
        var meeting = RoomMeeting()
        meeting.add(receives: receives)
        meeting.add(receives: false)
        #expect(areConnected(meeting, 0, 1) == receives)
        _ = meeting.members[0].session.takeOutputs()
        meeting.members[0].session.received(uselessOffer: "an offer of no use")
        #expect(meeting.members[0].session.takeOutputs() == (receives ? [.ignored("an offer of no use")] : []))
        #expect(areConnected(meeting, 0, 1) == receives)
    }

    /// A program of others that can be offered nothing is not offered it for ever.
    @Test func vainAttemptsEnd() {
        var session = RoomSession(room: "r")
        session.connected()
        session.received(.joined(room: "r", id: "a"), now: .seconds(1))
        session.received(.otherJoined(room: "r", id: "b"), now: .seconds(1))
        session.peerEnded(.failed, "has sent an answer that is of no use", isFinal: true, now: .seconds(1))
        #expect(session.nextDeadline == .seconds(2))
        session.tick(now: .seconds(2))
        session.peerEnded(.failed, "has sent an answer that is of no use", isFinal: true, now: .seconds(2))
        #expect(session.nextDeadline == nil)
        _ = session.takeOutputs()
        session.received(.message(room: "r", RoomMessage.offer(sdp: RoomMeeting.sdp(1)).data), now: .seconds(3))
        #expect(session.takeOutputs() == [.acceptOffer(sdp: RoomMeeting.sdp(1))])
    }

    // MARK: - Servers

    /// The words go to standard error, to the status and to the event file.
    @Test func aLongRefusalIsCut() {
        let words = "no \u{1B}[31mroom\nsecond line" + String(repeating: "x", count: 950_000)
        let sentence = SocketClient.Reason.refused(words).sentence(about: "http://rooms.example:80")
        #expect(sentence == "http://rooms.example:80 does not let this side in: no [31mroom")
        let oneLine = SocketClient.Reason.refused(String(repeating: "x", count: 950_000))
        #expect(oneLine.sentence(about: "S").utf8.count < 300)
    }
}
