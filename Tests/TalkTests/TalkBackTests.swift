import Access
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
        let access: AccessControl
        let talk: TalkBack
        let told: Told
        private var speech: Speech

        init(_ policy: TalkPolicy, hasThread: Bool = true) throws {
            let ring = try TalkRing()
            self.ring = ring
            let told = Told()
            var settings = AccessEngine.Settings()
            settings.talk = policy
            access = AccessControl(settings)
            access.begin(AccessControl.Outlets(wake: {}, tell: told.add))
            talk = try TalkBack(access, into: ring.writer()) { Issue.record("\($0)") }
            if hasThread { try talk.begin() }
            access.change { engine, _ in engine.begin(7) }
            speech = try Speech(.tone(500, lasting: 10))
            self.told = told
        }

        final class Told: Sendable {
            let events = Mutex<[AccessEvent.Talk]>([])

            func add(_ event: AccessEvent) {
                if case .talk(7, let talk) = event { events.withLock { $0.append(talk) } }
            }
        }

        deinit { talk.close() }

        func grant() -> Bool { access.change { engine, _ in engine.grantTalk(7) } }

        func send(_ count: Int, from peer: ParticipantID = 7) {
            for _ in 0..<count {
                if let packet = speech.next(at: MonotonicClock.now()) { talk.receive(packet, from: peer) }
            }
        }
    }

    /// Invariant: permitted.
    @Test func whoMaySpeakIsHeardAndNobodyElse() throws {
        let scene = try Scene(.ask)
        scene.send(20)
        #expect(scene.talk.talker(7) == TalkBack.Talker(state: .asked, voice: nil))
        #expect(scene.grant())
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
        #expect(events == [.asked, .granted, .started(isNews: true), .ended, .revoked])
    }

    @Test func whoHasGoneIsForgotten() throws {
        let scene = try Scene(.ask)
        let answer = scene.access.change { $0.askToTalk(7, at: $1) }
        #expect(answer == .asked)
        scene.access.change { $0.end(7, at: $1) }
        #expect(scene.talk.talker(7).state == .off)
        scene.talk.close()
        // Nobody waits for a thread that has ended.
        expect(!scene.grant())
        scene.send(3)
        expect(!scene.talk.revoke(7))
    }

    /// However many threads bring packets meanwhile.
    /// Invariant: permitted.
    @Test func nothingComesInAfterARevocation() throws {
        let scene = try Scene(.ask, hasThread: false)
        let (access, talk) = (scene.access, scene.talk)
        let packet = try #require(try Speech(.tone(500, lasting: 1)).packets.first)
        let isOver = Atomic(false)
        let take = { @Sendable in
            while !isOver.load(ordering: .relaxed) {
                let now: Instant = MonotonicClock.now()
                talk.receive(ReceivedSound(sequenceNumber: 1, timestamp: 0, arrivedAt: now, bytes: packet), from: 7)
            }
        }
        let first = try Thread(take)
        let second = try Thread(take)
        for _ in 0..<500 {
            #expect(scene.grant())
            // As the thread asks for work.
            _ = talk.exchange(TalkBack.Outcome(), at: MonotonicClock.now())
            access.change { engine, now in _ = engine.revokeTalk(7, at: now) }
            let work = talk.exchange(TalkBack.Outcome(), at: MonotonicClock.now())
            #expect(work.packets.isEmpty && work.heard.isEmpty)
        }
        isOver.store(true, ordering: .relaxed)
        first.join()
        second.join()
    }
}
