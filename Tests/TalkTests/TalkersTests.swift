import Media
import TestSupport
import Testing
import Time

@testable import Talk

@Suite struct TalkersTests {
    private static let start = Instant.seconds(1000)
    private static let peers = (1...6).map { ParticipantID($0) }

    /// Peers that send, by the level that they tell, in decibels below the loudest.
    private struct Scene {
        var talkers: Talkers
        var now = start

        /// With six peers.
        init(_ policy: TalkPolicy, places: Int = 1) {
            talkers = Talkers(policy, places: places)
            for peer in peers { talkers.begin(peer) }
        }

        /// What each peer says for a while, a packet of each in 20 ms. What is heard and loud is noted, as of the thread that plays it.
        ///
        /// - Returns: who was heard in the last packet.
        mutating func say(_ levels: [ParticipantID: UInt8?], for time: Duration) -> Set<ParticipantID> {
            var heard: Set<ParticipantID> = []
            let end = now + time
            while now < end {
                now += .milliseconds(20)
                heard.removeAll()
                for (peer, level) in levels.sorted(by: { $0.key < $1.key }) {
                    guard talkers.hears(peer, level: level, isQuiet: false, at: now) else { continue }
                    heard.insert(peer)
                    if level ?? 20 < 50 { talkers.noteLoud(peer, at: now) }
                }
                talkers.tick(at: now)
            }
            return heard
        }

        mutating func pass(_ time: Duration) {
            let end = now + time
            while let deadline = talkers.nextDeadline, deadline <= end {
                now = max(now, deadline)
                talkers.tick(at: now)
            }
            now = end
        }
    }

    // MARK: - Rights

    @Test func whereNobodyIsHeardNobodyIs() {
        var scene = Scene(.off)
        expect(scene.say([1: 20], for: .seconds(1)).isEmpty)
        #expect(scene.talkers.state(of: 1) == .off)
        expect(scene.talkers.takeEvents() == [])
    }

    /// Invariant: permitted.
    @Test func whoAsksWaitsUntilSomebodyDecides() {
        var scene = Scene(.ask)
        #expect(scene.talkers.state(of: 1) == .none)
        expect(scene.talkers.ask(1, at: scene.now) == .asked)
        expect(scene.talkers.ask(1, at: scene.now) == .asked)
        #expect(scene.talkers.state(of: 1) == .asked)
        expect(scene.say([1: 20], for: .seconds(1)).isEmpty)
        expect(scene.talkers.takeEvents() == [.asked(1)])
        scene.talkers.grant(1)
        scene.talkers.grant(1)
        #expect(scene.talkers.state(of: 1) == .granted)
        expect(scene.say([1: 20], for: .milliseconds(20)) == [1])
        #expect(scene.talkers.state(of: 1) == .speaking)
        expect(scene.talkers.takeEvents() == [.granted(1), .started(1, isNews: true)])
        scene.talkers.revoke(1, at: scene.now)
        expect(scene.say([1: 20], for: .seconds(1)).isEmpty)
        #expect(scene.talkers.state(of: 1) == .none)
        expect(scene.talkers.takeEvents() == [.ended(1), .revoked(1)])
    }

    /// A page is loaded again, or is open twice.
    @Test(arguments: [TalkPolicy.ask, .on]) func whoMayNotSpeakDoesNotByComingAnew(policy: TalkPolicy) {
        var scene = Scene(policy)
        for peer in Self.peers.prefix(2) {
            scene.talkers.identify(peer, by: "Ann")
            scene.talkers.grant(peer)
        }
        scene.talkers.identify(3, by: "Bob")
        scene.talkers.grant(3)
        scene.talkers.revoke(1, at: scene.now)
        expect(scene.say([1: 20, 2: 20], for: .seconds(1)).isEmpty)
        scene.talkers.end(1, at: scene.now)
        scene.talkers.begin(7)
        scene.talkers.identify(7, by: "Ann")
        expect(scene.say([7: 20], for: .seconds(1)).isEmpty)
        expect(scene.talkers.ask(7, at: scene.now) == .refused(until: Self.start + Talkers.refusalTime))
        scene.pass(Talkers.refusalTime)
        expect(scene.talkers.ask(7, at: scene.now) == .asked)
        expect(scene.say([3: 20], for: .seconds(1)) == [3])
        // A grant forgets the refusal.
        scene.pass(.seconds(3))
        scene.talkers.grant(7)
        scene.talkers.begin(8)
        scene.talkers.identify(8, by: "Ann")
        #expect(scene.talkers.state(of: 8) == (policy == .on ? .granted : .none))
        expect(scene.talkers.ask(8, at: scene.now) == (policy == .on ? .granted : .asked))
    }

    /// Programs have no other way.
    @Test func whoSendsAsksByThatOnce() {
        var scene = Scene(.ask)
        expect(scene.say([1: 20, 2: nil], for: .seconds(1)).isEmpty)
        expect(scene.talkers.takeEvents() == [.asked(1), .asked(2)])
        scene.talkers.revoke(1, at: scene.now)
        scene.talkers.grant(2)
        scene.now += .seconds(3600)
        expect(scene.say([1: 20, 2: nil], for: .seconds(1)) == [2])
        expect(scene.talkers.takeEvents() == [.revoked(1), .granted(2), .started(2, isNews: true)])
    }

    @Test func aNoHoldsForAWhile() {
        for policy in [TalkPolicy.ask, .on] {
            var scene = Scene(policy)
            _ = scene.talkers.ask(1, at: scene.now)
            scene.talkers.revoke(1, at: scene.now)
            let until = scene.now + Talkers.refusalTime
            expect(scene.talkers.ask(1, at: scene.now) == .refused(until: until))
            expect(scene.talkers.ask(1, at: until - .nanoseconds(1)) == .refused(until: until))
            _ = scene.talkers.takeEvents()
            expect(scene.talkers.ask(1, at: until) == .asked)
            expect(scene.talkers.takeEvents() == [.asked(1)])
            // A yes may come unasked.
            scene.talkers.revoke(1, at: until)
            scene.talkers.grant(1)
            expect(scene.talkers.ask(1, at: until) == .granted)
        }
    }

    @Test func nobodyIsAskedAgainAndAgain() {
        var scene = Scene(.ask)
        expect(scene.talkers.ask(1, at: scene.now) == .asked)
        scene.talkers.withdraw(1, at: scene.now)
        #expect(scene.talkers.state(of: 1) == .none)
        let until = scene.now + Talkers.askingInterval
        expect(scene.talkers.ask(1, at: scene.now) == .tooOften(until: until))
        expect(scene.talkers.ask(1, at: until) == .asked)
        expect(scene.talkers.takeEvents() == [.asked(1), .asked(1)])
    }

    /// Who stops keeps the right for later, and is not heard before it wants to.
    @Test(arguments: [TalkPolicy.ask, .on])
    func whoStopsMayGoOnLater(policy: TalkPolicy) {
        var scene = Scene(policy)
        _ = scene.talkers.ask(1, at: scene.now)
        scene.talkers.grant(1)
        expect(scene.say([1: 20], for: .seconds(1)) == [1])
        scene.talkers.withdraw(1, at: scene.now)
        #expect(scene.talkers.state(of: 1) == .granted)
        expect(scene.say([1: 20], for: .seconds(1)).isEmpty)
        expect(scene.talkers.ask(1, at: scene.now) == .granted)
        expect(scene.say([1: 20], for: .seconds(1)) == [1])
        // Who withdraws a wish is not taken to ask by what it sends.
        var other = Scene(.ask)
        other.talkers.withdraw(2, at: other.now)
        expect(other.say([2: 20], for: .seconds(1)).isEmpty)
        expect(other.talkers.takeEvents() == [])
    }

    @Test func whereAllMaySpeakNobodyAsks() {
        var scene = Scene(.on)
        #expect(scene.talkers.state(of: 1) == .granted)
        expect(scene.talkers.ask(1, at: scene.now) == .granted)
        expect(scene.say([1: 20], for: .seconds(1)) == [1])
        scene.talkers.revoke(1, at: scene.now)
        expect(scene.say([1: 20], for: .seconds(100)).isEmpty)
        expect(scene.talkers.ask(1, at: scene.now) == .asked)
    }

    /// Whatever is asked of it meanwhile: an answer of a person comes when it comes.
    @Test(arguments: [TalkPolicy.ask, .on])
    func ofOneThatHasGoneNothingIsLeft(policy: TalkPolicy) {
        var scene = Scene(policy)
        scene.talkers.end(1, at: scene.now)
        expect(!scene.talkers.grant(1))
        expect(!scene.talkers.revoke(1, at: scene.now))
        expect(scene.talkers.ask(1, at: scene.now) == .refused(until: scene.now))
        scene.talkers.withdraw(1, at: scene.now)
        expect(scene.say([1: 20], for: .seconds(1)).isEmpty)
        #expect(scene.talkers.state(of: 1) == .off)
        expect(scene.talkers.takeEvents() == [])
    }

    // MARK: - Places

    /// As many as there are places, and those who spoke first.
    @Test(arguments: 1...4)
    func whoSpeaksFirstIsHeard(places: Int) {
        var scene = Scene(.on, places: places)
        for count in 1...6 {
            let levels = Dictionary(uniqueKeysWithValues: Self.peers.prefix(count).map { ($0, UInt8?.some(20)) })
            expect(scene.say(levels, for: .seconds(2)) == Set(Self.peers.prefix(min(count, places))))
        }
        #expect(scene.talkers.heard == Set(Self.peers.prefix(places)))
        #expect(Self.peers.map { scene.talkers.state(of: $0) == .speaking } == Self.peers.map { $0.number <= places })
    }

    /// A pause of less than a second takes nobody's place, a longer one does if somebody else speaks.
    @Test(arguments: [UInt8?.some(20), nil])
    func aPlaceIsLostToOneWhoSpeaks(level: UInt8?) {
        var scene = Scene(.on)
        expect(scene.say([1: 20, 2: 90], for: .seconds(3)) == [1])
        expect(scene.say([1: 90, 2: level], for: .milliseconds(980)) == [1])
        expect(scene.say([1: 20, 2: level], for: .milliseconds(20)) == [1])
        expect(scene.say([1: 90, 2: level], for: .milliseconds(1020)) == [2])
        expect(scene.say([1: 20, 2: level], for: .seconds(5)) == [2])
        expect(
            scene.talkers.takeEvents()
                == [.started(1, isNews: true), .ended(1), .started(2, isNews: true)]
        )
        // Whoever is quiet takes no place from anybody.
        expect(scene.say([1: 90, 2: 90], for: .seconds(5)) == [2])
    }

    /// Nothing comes from one who has closed the microphone: the place is anybody's after a second.
    @Test func aPlaceIsFreeWhereNothingComes() {
        var scene = Scene(.on)
        expect(scene.say([1: 20], for: .seconds(1)) == [1])
        expect(scene.say([2: 90], for: .milliseconds(900)).isEmpty)
        expect(scene.say([2: 90], for: .milliseconds(200)) == [2])
        #expect(scene.talkers.state(of: 2) == .granted)
        expect(scene.talkers.takeEvents() == [.started(1, isNews: true), .ended(1)])
        scene.pass(.seconds(1))
        #expect(scene.talkers.heard.isEmpty)
        #expect(scene.talkers.nextDeadline == nil)
    }

    /// What a quiet encoder sends keeps a place, and gets none.
    @Test func quietPackets() {
        var scene = Scene(.on)
        let now = scene.now
        expect(!scene.talkers.hears(1, level: 127, isQuiet: true, at: now))
        expect(scene.talkers.hears(1, level: 30, isQuiet: false, at: now))
        for step in 1...20 {
            let at = now + .milliseconds(400 * step)
            expect(scene.talkers.hears(1, level: 127, isQuiet: true, at: at))
            scene.talkers.tick(at: at)
        }
    }

    /// Programs are told each time, people only after a while.
    @Test func pausesOfSpeech() {
        var scene = Scene(.on)
        _ = scene.say([1: 20], for: .seconds(1))
        _ = scene.say([1: 90], for: .milliseconds(1900))
        _ = scene.say([1: 20], for: .seconds(1))
        expect(scene.talkers.takeEvents() == [.started(1, isNews: true)])
        _ = scene.say([1: 90], for: .milliseconds(2100))
        expect(scene.talkers.takeEvents() == [.ended(1)])
        _ = scene.say([1: 20], for: .seconds(1))
        expect(scene.talkers.takeEvents() == [.started(1, isNews: false)])
        _ = scene.say([1: 90], for: .seconds(70))
        _ = scene.say([1: 20], for: .seconds(1))
        expect(scene.talkers.takeEvents() == [.ended(1), .started(1, isNews: true)])
    }

    /// Whatever is done, no more are heard than there are places, nobody is heard who may not be, and who ends has begun.
    /// Invariant: permitted.
    @Test(arguments: 1...40 as ClosedRange<UInt64>)
    func anything(seed: UInt64) {
        var random = SplitMix(seed: seed)
        let policy = [TalkPolicy.ask, .on].randomElement(using: &random)!
        let places = Int.random(in: 1...4, using: &random)
        var scene = Scene(policy, places: places)
        var mayNot = policy == .ask ? Set(Self.peers) : []
        var (speaking, closed): (Set<ParticipantID>, Set<ParticipantID>) = ([], [])
        for _ in 0..<3000 {
            scene.now += .milliseconds(Double.random(in: 0...200, using: &random))
            let peer = Self.peers.randomElement(using: &random)!
            switch Int.random(in: 0..<30, using: &random) {
            case 0:
                scene.talkers.grant(peer)
                mayNot.remove(peer)
            case 1:
                scene.talkers.revoke(peer, at: scene.now)
                mayNot.insert(peer)
            case 2:
                scene.talkers.withdraw(peer, at: scene.now)
                closed.insert(peer)
            case 3:
                scene.talkers.end(peer, at: scene.now)
                scene.talkers.begin(peer)
                closed.remove(peer)
                if policy == .ask { mayNot.insert(peer) } else { mayNot.remove(peer) }
            case 4:
                if scene.talkers.ask(peer, at: scene.now) == .granted { #expect(!mayNot.contains(peer)) }
                closed.remove(peer)
            case 5: scene.talkers.tick(at: scene.now)
            case 6...15: scene.talkers.noteLoud(peer, at: scene.now)
            default:
                let level = [nil, UInt8.random(in: 0...127, using: &random)].randomElement(using: &random)!
                let isHeard = scene.talkers.hears(
                    peer,
                    level: level,
                    isQuiet: Bool.random(using: &random),
                    at: scene.now
                )
                #expect(isHeard == scene.talkers.hasPlace(peer) && !(isHeard && closed.contains(peer)))
            }
            #expect(scene.talkers.heard.count <= places)
            #expect(scene.talkers.heard.isDisjoint(with: mayNot))
            for event in scene.talkers.takeEvents() {
                switch event {
                case .started(let peer, _): expect(speaking.insert(peer).inserted)
                case .ended(let peer): expect(speaking.remove(peer) != nil)
                case .asked, .granted, .revoked: break
                }
            }
            #expect(speaking == Set(Self.peers.filter { scene.talkers.state(of: $0) == .speaking }))
        }
        scene.pass(.seconds(5))
        #expect(scene.talkers.heard.isEmpty)
    }
}
