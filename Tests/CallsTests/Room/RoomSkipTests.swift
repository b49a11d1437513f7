import TestSupport
import Testing
import Time

@testable import Calls

/// A member of a room has sound left out that has piled up in its buffer. Nobody else can silence what it hears.
@Suite struct RoomSkipTests {
    private static let skip = RoomMessage.skip(milliseconds: 240)
    private static let skipped = [RoomSession.Output.skipSound(.milliseconds(240))]

    /// A session in a room, which has offered to member `b`.
    private struct Bench {
        var session = RoomSession(room: "r")
        let now = Instant.seconds(100)

        /// - Parameters:
        ///   - isOriel: whether `b` introduces itself.
        ///   - namesSenders: whether the server tells the sender of each message.
        init(isOriel: Bool, namesSenders: Bool) {
            session.connected()
            session.received(.joined(room: "r", id: "a"), now: now)
            session.received(.otherJoined(room: "r", id: "b"), now: now)
            let sender = namesSenders ? "b" : nil
            if isOriel {
                var introduction = RoomIntroduction()
                introduction.receives = true
                receive(.hello(introduction), from: sender)
            }
            session.described("o")
            receive(.answer(sdp: RoomMeeting.sdp(1)), from: sender)
        }

        /// What the peer has to do of what a message says.
        @discardableResult
        mutating func receive(_ message: RoomMessage, from sender: String?) -> [RoomSession.Output] {
            _ = session.takeOutputs()
            if let sender { session.received(.sender(room: "r", id: sender), now: now) }
            session.received(.message(room: "r", message.data), now: now)
            return session.takeOutputs()
        }
    }

    @Test(arguments: [0, 1]) func theOtherMemberHasSoundLeftOut(member: Int) {
        var meeting = RoomMeeting()
        for _ in 0..<2 { meeting.add() }
        meeting.say(Self.skip, by: member)
        #expect(meeting.told(1 - member) == Self.skipped)
        #expect(meeting.told(member) == [])
    }

    /// As long as the path stands.
    @Test(arguments: [true, false]) func onlyOneWhoIsConnectedHas(namesSenders: Bool) {
        var bench = Bench(isOriel: true, namesSenders: namesSenders)
        let sender = namesSenders ? "b" : nil
        #expect(bench.receive(Self.skip, from: sender) == [])
        bench.session.peerConnected()
        #expect(bench.receive(Self.skip, from: sender) == Self.skipped)
        bench.session.peerEnded(.lost, "is lost", isFinal: false, now: bench.now)
        #expect(bench.receive(Self.skip, from: sender) == [])
    }

    /// Programs that do not introduce themselves know nothing of it: somebody else has said so.
    @Test(arguments: [true, false]) func onlyOneWhoIsIntroducedHas(namesSenders: Bool) {
        var bench = Bench(isOriel: false, namesSenders: namesSenders)
        bench.session.peerConnected()
        #expect(bench.receive(Self.skip, from: namesSenders ? "b" : nil) == [])
    }

    @Test func aThirdHasNone() {
        var bench = Bench(isOriel: true, namesSenders: true)
        bench.session.peerConnected()
        #expect(bench.receive(Self.skip, from: "t") == [])
        bench.session.received(.otherJoined(room: "r", id: "t"), now: bench.now)
        #expect(bench.receive(Self.skip, from: "t") == [])
        #expect(bench.receive(Self.skip, from: "b") == Self.skipped)
    }

    /// Where the server does not tell who has said so, nobody is believed while a third member is there.
    @Test func ofThreeNobodyIsBelievedWithoutAName() {
        var bench = Bench(isOriel: true, namesSenders: false)
        bench.session.peerConnected()
        bench.session.received(.otherJoined(room: "r", id: "t"), now: bench.now)
        #expect(bench.receive(Self.skip, from: nil) == [])
        // It is a third one, as the other member is heard still.
        bench.session.tick(now: bench.now + .seconds(3))
        bench.session.heard(at: bench.now + .seconds(3))
        bench.session.tick(now: bench.now + .seconds(4))
        #expect(bench.receive(Self.skip, from: nil) == [])
        bench.session.received(.bye(room: "r", id: "t"), now: bench.now)
        #expect(bench.receive(Self.skip, from: nil) == Self.skipped)
    }
}
