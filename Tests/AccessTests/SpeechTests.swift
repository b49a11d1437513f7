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

    /// As `FormerTalkers`, whatever happens: the same answers, states, voices, deadlines and events.
    @Test(arguments: 1...300 as ClosedRange<UInt64>)
    func asFormerly(seed: UInt64) {
        var random = SplitMix(seed: seed)
        let policy = TalkPolicy.allCases.randomElement(using: &random)!
        let places = Int.random(in: 1...4, using: &random)
        var scene = SpeechScene(policy, places: places)
        var former = FormerTalkers(policy, places: places)
        for peer in SpeechScene.peers { former.begin(peer) }
        // Of whoever falls silent at once, either may be told first.
        func sorted(_ events: [SpeechScene.Event]) -> [String] {
            var (lines, silent) = ([String](), [String]())
            for event in events {
                if case .ended(let peer) = event {
                    silent.append("\(peer) ended")
                } else {
                    lines += silent.sorted() + ["\(event)"]
                    silent = []
                }
            }
            return lines + silent.sorted()
        }
        for _ in 0..<200 {
            scene.now += .milliseconds(Double.random(in: 0...400, using: &random))
            let (now, peer) = (scene.now, SpeechScene.peers.randomElement(using: &random)!)
            switch Int.random(in: 0..<24, using: &random) {
            case 0: expect(scene.access.grantTalk(peer) == former.grant(peer))
            case 1: expect(scene.access.revokeTalk(peer, at: now) == former.revoke(peer, at: now))
            case 2:
                scene.access.withdraw(peer, at: now)
                former.withdraw(peer, at: now)
            case 3:
                scene.access.end(peer, at: now)
                former.end(peer, at: now)
                if Bool.random(using: &random) {
                    scene.access.begin(peer)
                    former.begin(peer)
                }
            case 4 where former.state(of: peer) != .off:
                let key = GuestKey.test(.random(in: 1...2, using: &random))
                scene.access.begin(peer, guest: key)
                former.identify(peer, by: key)
            case 5, 6: expect(scene.access.askToTalk(peer, at: now) == former.ask(peer, at: now))
            case 7:
                scene.access.tick(now: now)
                former.tick(at: now)
            case 8...12:
                scene.access.noteLoud(peer, at: now)
                former.noteLoud(peer, at: now)
            default:
                let level = [nil, UInt8.random(in: 0...127, using: &random)].randomElement(using: &random)!
                let isQuiet = Bool.random(using: &random)
                expect(
                    scene.access.hears(peer, level: level, isQuiet: isQuiet, at: now)
                        == former.hears(peer, level: level, isQuiet: isQuiet, at: now)
                )
            }
            expect(sorted(scene.takeEvents()) == sorted(former.takeEvents()))
            #expect(SpeechScene.peers.allSatisfy { scene.access.talkState(of: $0) == former.state(of: $0) })
            #expect(scene.access.heard == former.heard && scene.access.nextDeadline == former.nextDeadline)
        }
    }
}
