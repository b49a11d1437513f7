import Media
import TestSupport
import Testing
import Time

@testable import Access

/// Who may speak.
@Suite struct SpeechTests {
    @Test func whereNobodyIsHeardNobodyIs() {
        var scene = SpeechScene(.off)
        expect(scene.say([1: 20], for: .seconds(1)).isEmpty)
        #expect(scene.access.talkState(of: 1) == .off)
        expect(scene.takeEvents() == [])
    }

    /// Invariant: permitted.
    @Test func whoAsksWaitsUntilSomebodyDecides() {
        var scene = SpeechScene(.ask)
        #expect(scene.access.talkState(of: 1) == .none)
        expect(scene.access.askToTalk(1, at: scene.now) == .asked)
        expect(scene.access.askToTalk(1, at: scene.now) == .asked)
        #expect(scene.access.talkState(of: 1) == .asked)
        expect(scene.say([1: 20], for: .seconds(1)).isEmpty)
        expect(scene.takeEvents() == [.asked(1)])
        scene.access.grantTalk(1)
        scene.access.grantTalk(1)
        #expect(scene.access.talkState(of: 1) == .granted)
        expect(scene.say([1: 20], for: .milliseconds(20)) == [1])
        #expect(scene.access.talkState(of: 1) == .speaking)
        expect(scene.takeEvents() == [.granted(1), .started(1, isNews: true)])
        scene.access.revokeTalk(1, at: scene.now)
        expect(scene.say([1: 20], for: .seconds(1)).isEmpty)
        #expect(scene.access.talkState(of: 1) == .none)
        expect(scene.takeEvents() == [.ended(1), .revoked(1)])
    }

    /// A page is loaded again, or is open twice.
    @Test(arguments: [TalkPolicy.ask, .on]) func whoMayNotSpeakDoesNotByComingAnew(policy: TalkPolicy) {
        var scene = SpeechScene(policy)
        for peer in SpeechScene.peers.prefix(2) {
            scene.access.begin(peer, guest: .test(1))
            scene.access.grantTalk(peer)
        }
        scene.access.begin(3, guest: .test(2))
        scene.access.grantTalk(3)
        scene.access.revokeTalk(1, at: scene.now)
        expect(scene.say([1: 20, 2: 20], for: .seconds(1)).isEmpty)
        scene.access.end(1, at: scene.now)
        scene.access.begin(7)
        scene.access.begin(7, guest: .test(1))
        expect(scene.say([7: 20], for: .seconds(1)).isEmpty)
        expect(
            scene.access.askToTalk(7, at: scene.now) == .refused(until: SpeechScene.start + AccessEngine.refusalTime)
        )
        scene.pass(AccessEngine.refusalTime)
        expect(scene.access.askToTalk(7, at: scene.now) == .asked)
        expect(scene.say([3: 20], for: .seconds(1)) == [3])
        // A grant forgets the refusal.
        scene.pass(.seconds(3))
        scene.access.grantTalk(7)
        scene.access.begin(8)
        scene.access.begin(8, guest: .test(1))
        #expect(scene.access.talkState(of: 8) == (policy == .on ? .granted : .none))
        expect(scene.access.askToTalk(8, at: scene.now) == (policy == .on ? .granted : .asked))
    }

    /// Nobody is told of a right that such a viewer never had.
    @Test func whoSendsNoSoundHasNothingToLose() {
        var scene = SpeechScene(.on)
        scene.access.begin(7, canSpeak: false, guest: .test(1))
        scene.access.begin(8, guest: .test(1))
        #expect(scene.access.talkState(of: 7) == .off && scene.access.talkState(of: 8) == .granted)
        scene.access.revokeTalk(7, at: scene.now)
        #expect(scene.access.talkState(of: 7) == .off && scene.access.talkState(of: 8) == .none)
        expect(scene.takeEvents() == [.revoked(8)])
    }

    /// Programs have no other way.
    @Test func whoSendsAsksByThatOnce() {
        var scene = SpeechScene(.ask)
        expect(scene.say([1: 20, 2: nil], for: .seconds(1)).isEmpty)
        expect(scene.takeEvents() == [.asked(1), .asked(2)])
        scene.access.revokeTalk(1, at: scene.now)
        scene.access.grantTalk(2)
        scene.now += .seconds(3600)
        expect(scene.say([1: 20, 2: nil], for: .seconds(1)) == [2])
        expect(scene.takeEvents() == [.revoked(1), .granted(2), .started(2, isNews: true)])
    }

    @Test func aNoHoldsForAWhile() {
        for policy in [TalkPolicy.ask, .on] {
            var scene = SpeechScene(policy)
            _ = scene.access.askToTalk(1, at: scene.now)
            scene.access.revokeTalk(1, at: scene.now)
            let until = scene.now + AccessEngine.refusalTime
            expect(scene.access.askToTalk(1, at: scene.now) == .refused(until: until))
            expect(scene.access.askToTalk(1, at: until - .nanoseconds(1)) == .refused(until: until))
            _ = scene.takeEvents()
            expect(scene.access.askToTalk(1, at: until) == .asked)
            expect(scene.takeEvents() == [.asked(1)])
            // A yes may come unasked.
            scene.access.revokeTalk(1, at: until)
            scene.access.grantTalk(1)
            expect(scene.access.askToTalk(1, at: until) == .granted)
        }
    }

    @Test func nobodyIsAskedAgainAndAgain() {
        var scene = SpeechScene(.ask)
        expect(scene.access.askToTalk(1, at: scene.now) == .asked)
        scene.access.withdraw(1, at: scene.now)
        #expect(scene.access.talkState(of: 1) == .none)
        let until = scene.now + AccessEngine.askingInterval
        expect(scene.access.askToTalk(1, at: scene.now) == .tooOften(until: until))
        expect(scene.access.askToTalk(1, at: until) == .asked)
        expect(scene.takeEvents() == [.asked(1), .asked(1)])
    }

    /// Who stops keeps the right for later, and is not heard before it wants to.
    @Test(arguments: [TalkPolicy.ask, .on])
    func whoStopsMayGoOnLater(policy: TalkPolicy) {
        var scene = SpeechScene(policy)
        _ = scene.access.askToTalk(1, at: scene.now)
        scene.access.grantTalk(1)
        expect(scene.say([1: 20], for: .seconds(1)) == [1])
        scene.access.withdraw(1, at: scene.now)
        #expect(scene.access.talkState(of: 1) == .granted)
        expect(scene.say([1: 20], for: .seconds(1)).isEmpty)
        expect(scene.access.askToTalk(1, at: scene.now) == .granted)
        expect(scene.say([1: 20], for: .seconds(1)) == [1])
        // Who withdraws a wish is not taken to ask by what it sends.
        var other = SpeechScene(.ask)
        other.access.withdraw(2, at: other.now)
        expect(other.say([2: 20], for: .seconds(1)).isEmpty)
        expect(other.takeEvents() == [])
    }

    @Test func whereAllMaySpeakNobodyAsks() {
        var scene = SpeechScene(.on)
        #expect(scene.access.talkState(of: 1) == .granted)
        expect(scene.access.askToTalk(1, at: scene.now) == .granted)
        expect(scene.say([1: 20], for: .seconds(1)) == [1])
        scene.access.revokeTalk(1, at: scene.now)
        expect(scene.say([1: 20], for: .seconds(100)).isEmpty)
        expect(scene.access.askToTalk(1, at: scene.now) == .asked)
    }

    /// Whatever is asked of it meanwhile: an answer of a person comes when it comes.
    @Test(arguments: [TalkPolicy.ask, .on])
    func ofOneThatHasGoneNothingIsLeft(policy: TalkPolicy) {
        var scene = SpeechScene(policy)
        scene.access.end(1, at: scene.now)
        expect(!scene.access.grantTalk(1))
        expect(!scene.access.revokeTalk(1, at: scene.now))
        expect(scene.access.askToTalk(1, at: scene.now) == .refused(until: scene.now))
        scene.access.withdraw(1, at: scene.now)
        expect(scene.say([1: 20], for: .seconds(1)).isEmpty)
        #expect(scene.access.talkState(of: 1) == .off)
        expect(scene.takeEvents() == [])
    }
}
