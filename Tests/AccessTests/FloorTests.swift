import Media
import TestSupport
import Testing
import Time

@testable import Access

/// Who is heard of those who may speak.
@Suite struct FloorTests {
    /// As many as there are places, and those who spoke first.
    @Test(arguments: 1...4)
    func whoSpeaksFirstIsHeard(places: Int) {
        var scene = SpeechScene(.on, places: places)
        for count in 1...6 {
            let levels = Dictionary(uniqueKeysWithValues: SpeechScene.peers.prefix(count).map { ($0, UInt8?.some(20)) })
            expect(scene.say(levels, for: .seconds(2)) == Set(SpeechScene.peers.prefix(min(count, places))))
        }
        #expect(scene.access.heard == Set(SpeechScene.peers.prefix(places)))
        #expect(
            SpeechScene.peers.map { scene.access.talkState(of: $0) == .speaking }
                == SpeechScene.peers.map { $0.number <= places }
        )
    }

    /// A pause of less than a second takes nobody's place, a longer one does if somebody else speaks.
    @Test(arguments: [UInt8?.some(20), nil])
    func aPlaceIsLostToOneWhoSpeaks(level: UInt8?) {
        var scene = SpeechScene(.on)
        expect(scene.say([1: 20, 2: 90], for: .seconds(3)) == [1])
        expect(scene.say([1: 90, 2: level], for: .milliseconds(980)) == [1])
        expect(scene.say([1: 20, 2: level], for: .milliseconds(20)) == [1])
        expect(scene.say([1: 90, 2: level], for: .milliseconds(1020)) == [2])
        expect(scene.say([1: 20, 2: level], for: .seconds(5)) == [2])
        expect(
            scene.takeEvents()
                == [.started(1, isNews: true), .ended(1), .started(2, isNews: true)]
        )
        // Whoever is quiet takes no place from anybody.
        expect(scene.say([1: 90, 2: 90], for: .seconds(5)) == [2])
    }

    /// Nothing comes from one who has closed the microphone: the place is anybody's after a second.
    @Test func aPlaceIsFreeWhereNothingComes() {
        var scene = SpeechScene(.on)
        expect(scene.say([1: 20], for: .seconds(1)) == [1])
        expect(scene.say([2: 90], for: .milliseconds(900)).isEmpty)
        expect(scene.say([2: 90], for: .milliseconds(200)) == [2])
        #expect(scene.access.talkState(of: 2) == .granted)
        expect(scene.takeEvents() == [.started(1, isNews: true), .ended(1)])
        scene.pass(.seconds(1))
        #expect(scene.access.heard.isEmpty)
        #expect(scene.access.nextDeadline == nil)
    }

    /// What a quiet encoder sends keeps a place, and gets none.
    @Test func quietPackets() {
        var scene = SpeechScene(.on)
        let now = scene.now
        expect(!scene.access.hears(1, level: 127, isQuiet: true, at: now))
        expect(scene.access.hears(1, level: 30, isQuiet: false, at: now))
        for step in 1...20 {
            let at = now + .milliseconds(400 * step)
            expect(scene.access.hears(1, level: 127, isQuiet: true, at: at))
            scene.access.tick(now: at)
        }
    }

    /// Programs are told each time, people only after a while.
    @Test func pausesOfSpeech() {
        var scene = SpeechScene(.on)
        _ = scene.say([1: 20], for: .seconds(1))
        _ = scene.say([1: 90], for: .milliseconds(1900))
        _ = scene.say([1: 20], for: .seconds(1))
        expect(scene.takeEvents() == [.started(1, isNews: true)])
        _ = scene.say([1: 90], for: .milliseconds(2100))
        expect(scene.takeEvents() == [.ended(1)])
        _ = scene.say([1: 20], for: .seconds(1))
        expect(scene.takeEvents() == [.started(1, isNews: false)])
        _ = scene.say([1: 90], for: .seconds(70))
        _ = scene.say([1: 20], for: .seconds(1))
        expect(scene.takeEvents() == [.ended(1), .started(1, isNews: true)])
    }

    /// Whatever is done, no more are heard than there are places, nobody is heard who may not be, and who ends has begun.
    /// Invariant: permitted.
    @Test(arguments: 1...40 as ClosedRange<UInt64>)
    func anything(seed: UInt64) {
        var random = SplitMix(seed: seed)
        let policy = [TalkPolicy.ask, .on].randomElement(using: &random)!
        let places = Int.random(in: 1...4, using: &random)
        var scene = SpeechScene(policy, places: places)
        var mayNot = policy == .ask ? Set(SpeechScene.peers) : []
        var (speaking, closed): (Set<ParticipantID>, Set<ParticipantID>) = ([], [])
        for _ in 0..<3000 {
            scene.now += .milliseconds(Double.random(in: 0...200, using: &random))
            let peer = SpeechScene.peers.randomElement(using: &random)!
            switch Int.random(in: 0..<30, using: &random) {
            case 0:
                scene.access.grantTalk(peer)
                mayNot.remove(peer)
            case 1:
                scene.access.revokeTalk(peer, at: scene.now)
                mayNot.insert(peer)
            case 2:
                scene.access.withdraw(peer, at: scene.now)
                closed.insert(peer)
            case 3:
                scene.access.end(peer, at: scene.now)
                scene.access.begin(peer)
                closed.remove(peer)
                if policy == .ask { mayNot.insert(peer) } else { mayNot.remove(peer) }
            case 4:
                if scene.access.askToTalk(peer, at: scene.now) == .granted { #expect(!mayNot.contains(peer)) }
                closed.remove(peer)
            case 5: scene.access.tick(now: scene.now)
            case 6...15: scene.access.noteLoud(peer, at: scene.now)
            default:
                let level = [nil, UInt8.random(in: 0...127, using: &random)].randomElement(using: &random)!
                let isHeard = scene.access.hears(
                    peer,
                    level: level,
                    isQuiet: Bool.random(using: &random),
                    at: scene.now
                )
                #expect(isHeard == scene.access.isHeard(peer) && !(isHeard && closed.contains(peer)))
            }
            #expect(scene.access.heard.count <= places)
            #expect(scene.access.heard.isDisjoint(with: mayNot))
            for event in scene.takeEvents() {
                switch event {
                case .started(let peer, _): expect(speaking.insert(peer).inserted)
                case .ended(let peer): expect(speaking.remove(peer) != nil)
                case .asked, .granted, .revoked: break
                }
            }
            #expect(speaking == Set(SpeechScene.peers.filter { scene.access.talkState(of: $0) == .speaking }))
        }
        scene.pass(.seconds(5))
        #expect(scene.access.heard.isEmpty)
    }
}
