import FrameBridge
import Media
import Posix
import Synchronization
import TestSupport
import Testing
import Time

@testable import Talk

/// With the thread, in real time.
@Suite struct TalkBackTests {
    private final class Scene {
        let ring: TalkRing
        let talk: TalkBack
        let told: Told
        private var speech: Speech

        init(_ policy: TalkPolicy) throws {
            let ring = try TalkRing()
            self.ring = ring
            let told = Told()
            talk = try TalkBack(policy, places: 1, into: ring.writer(), report: told.add) { Issue.record("\($0)") }
            try talk.begin()
            talk.begin(7)
            speech = try Speech(.tone(500, lasting: 10))
            self.told = told
        }

        final class Told: Sendable {
            let events = Mutex<[Talkers.Event]>([])
            func add(_ event: Talkers.Event) { events.withLock { $0.append(event) } }
        }

        deinit { talk.close() }

        func send(_ count: Int, from peer: ParticipantID = 7) {
            for _ in 0..<count {
                if let packet = speech.next(at: MonotonicClock.now()) { talk.take(packet, from: peer) }
            }
        }
    }

    /// Invariant: permitted.
    @Test func whoMaySpeakIsHeardAndNobodyElse() throws {
        let scene = try Scene(.ask)
        scene.send(20)
        #expect(scene.talk.talker(7) == TalkBack.Talker(state: .asked, voice: nil))
        scene.talk.grant(7)
        #expect(scene.talk.talker(7).state == .granted)
        // The thread plays in real time what is sent as fast as it is played.
        var blocks: [SoundBlock] = []
        try wait(until: "the voice is heard", restsBetween: false) {
            scene.send(1)
            blocks += try scene.ring.read().blocks
            MonotonicClock.sleep(for: .milliseconds(20))
            return blocks.count >= 40
        }
        #expect(scene.talk.talker(7).state == .speaking)
        scene.send(5)
        scene.talk.revoke(7)
        expect(try scene.ring.read().blocks.isEmpty)
        #expect(scene.talk.talker(7) == TalkBack.Talker(state: .none, voice: nil))
        scene.send(50)
        scene.talk.close()
        expect(try scene.ring.read().blocks.isEmpty)
        let events = scene.told.events.withLock { $0 }
        #expect(events == [.asked(7), .granted(7), .started(7, isNews: true), .ended(7), .revoked(7)])
    }

    @Test func whoHasGoneIsForgotten() throws {
        let scene = try Scene(.ask)
        #expect(scene.talk.ask(7) == .asked)
        scene.talk.end(7)
        #expect(scene.talk.talker(7).state == .off)
        scene.talk.close()
        // Nobody waits for a thread that has ended.
        expect(!scene.talk.grant(7))
        scene.send(3)
        expect(!scene.talk.revoke(7))
    }
}
