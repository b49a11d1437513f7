import TestSupport
import Testing
import Time

@testable import Motion

@Suite struct ClipTriggerTests {
    /// What a trigger could get wrong.
    enum Mistake: CaseIterable {
        case endsAStepEarly, knowsNoMaximum, callsAMaximumQuiet, isNeverBlind, isBlindAStepLess, isBlindAfterCommands
        case isBlindFromTheBegin, augmentsAtEachMotion, augmentsAStepEarly, addsACommand, ignoresACommandInAClip
        case shortensByCommand, isBlindAfterAStop, stopsSilently
    }

    /// The rules, word by word, at each instant of a walk in steps of a quarter second. Times are in steps.
    private struct Rules {
        struct Clip {
            let begin: Int
            let cause: ClipTrigger.Cause
            /// M, and the M before.
            var length: Int
            var before = 0
        }

        let (initial, augmentation, maximum, blind): (Int, Int, Int, Int)
        let mistake: Mistake?
        var clip: Clip?
        var blindUntil: Int?
        var events: [String] = []

        mutating func step(_ now: Int, moves: Bool, commands: Bool, stops: Bool) {
            let maximum = mistake == .knowsNoMaximum ? 1_000_000 : maximum
            // The end of a clip is before all that happens later.
            let early = mistake == .endsAStepEarly ? 1 : 0
            if let clip, now - clip.begin + early > clip.length || now - clip.begin > maximum {
                let time = min(clip.length, maximum)
                let isQuiet = clip.length < maximum || mistake == .callsAMaximumQuiet
                events.append("\(clip.begin + time) \(isQuiet ? "quiet" : "maximum")")
                blindUntil = blindEnd(after: clip, clip.begin + time)
                self.clip = nil
            }
            if stops {
                if let clip {
                    if mistake != .stopsSilently { events.append("\(now) off") }
                    blindUntil = mistake == .isBlindAfterAStop ? blindEnd(after: clip, now) : nil
                } else {
                    blindUntil = nil
                }
                clip = nil
            }
            if commands { begin(now, .command) }
            if moves { begin(now, .motion) }
        }

        private func blindEnd(after clip: Clip, _ end: Int) -> Int? {
            guard clip.cause == .motion || mistake == .isBlindAfterCommands else { return nil }
            return switch mistake {
            case .isNeverBlind: nil
            case .isBlindAStepLess: end + blind - 1
            case .isBlindFromTheBegin: clip.begin + blind
            default: end + blind
            }
        }

        private mutating func begin(_ now: Int, _ cause: ClipTrigger.Cause) {
            guard var clip else {
                if cause == .motion, let blindUntil, now <= blindUntil { return }
                events.append("\(now) \(cause)")
                clip = Clip(begin: now, cause: cause, length: initial)
                return
            }
            let time = now - clip.begin
            switch (cause, mistake) {
            case (.command, .addsACommand): clip.length += initial
            case (.command, .ignoresACommandInAClip): break
            case (.command, .shortensByCommand): clip.length = time + initial
            case (.command, _): clip.length = max(clip.length, time + initial)
            case (.motion, .augmentsAtEachMotion): clip.length += augmentation
            case (.motion, let mistake):
                if time + (mistake == .augmentsAStepEarly ? 1 : 0) > clip.before {
                    (clip.before, clip.length) = (clip.length, clip.length + augmentation)
                }
            }
            self.clip = clip
        }
    }

    private static func words(_ event: ClipTrigger.Event) -> String {
        func steps(_ instant: Instant) -> Int { Int(instant.nanoseconds / 250_000_000) }
        return switch event {
        case .began(let cause, let instant): "\(steps(instant)) \(cause)"
        case .ended(let reason, let instant): "\(steps(instant)) \(reason)"
        }
    }

    /// What a trigger tells on a random walk, and what the rules say.
    private static func walk(_ mistake: Mistake?, _ random: inout SplitMix) -> (told: [String], ruled: [String]) {
        let (initial, augmentation) = (Int.random(in: 1...60, using: &random), Int.random(in: 1...40, using: &random))
        let (maximum, blind) = (Int.random(in: 1...150, using: &random), Int.random(in: 0...80, using: &random))
        var rules = Rules(
            initial: initial,
            augmentation: augmentation,
            maximum: maximum,
            blind: blind,
            mistake: mistake
        )
        var times = ClipTrigger.Times()
        times.initial = .milliseconds(250) * initial
        times.augmentation = .milliseconds(250) * augmentation
        times.maximum = .milliseconds(250) * maximum
        times.blind = .milliseconds(250) * blind
        var trigger = ClipTrigger(times)
        var events: [ClipTrigger.Event] = []
        let rate = Double.random(in: 0.01...0.6, using: &random)
        for step in 0..<400 {
            let now = Instant.start + .milliseconds(250) * step
            // The trigger is asked at its deadlines, and at instants that mean nothing.
            while let deadline = trigger.deadline, deadline <= now { events += trigger.turn(at: deadline) }
            if Bool.random(using: &random) { events += trigger.turn(at: now) }
            let moves = Double.random(in: 0..<1, using: &random) < rate
            let commands = Int.random(in: 0..<60, using: &random) == 0
            let stops = Int.random(in: 0..<200, using: &random) == 0
            rules.step(step, moves: moves, commands: commands, stops: stops)
            if stops { events += trigger.stop(.off, at: now) }
            if commands { events += trigger.command(at: now) }
            if moves { events += trigger.motion(at: now) }
            if mistake == nil { #expect(trigger.isRunning == (rules.clip != nil)) }
        }
        return (events.map(Self.words), rules.events)
    }

    /// Ten thousand walks in all.
    @Test(arguments: 0..<10) func everyWalkFollowsTheRules(seed: UInt64) {
        var random = SplitMix(seed: seed)
        for _ in 0..<1000 {
            let (told, ruled) = Self.walk(nil, &random)
            #expect(told == ruled)
        }
    }

    /// Few walks are enough to see each of them.
    @Test(arguments: Mistake.allCases) func walksTellAMistakeFromTheRules(mistake: Mistake) {
        var random = SplitMix(seed: 1)
        let differences = (0..<200).count { _ in
            let (told, ruled) = Self.walk(mistake, &random)
            return told != ruled
        }
        #expect(differences > 0)
    }

    /// The example of the rules: motion all the time.
    @Test func motionMakesAClipLongerUpToItsMaximum() {
        var trigger = ClipTrigger(ClipTrigger.Times())
        var events: [ClipTrigger.Event] = []
        for second in 0..<100 { events += trigger.motion(at: .seconds(Double(1000 + second))) }
        #expect(
            events == [
                .began(.motion, at: .seconds(1000)), .ended(.maximum, at: .seconds(1030)),
                .began(.motion, at: .seconds(1061)), .ended(.maximum, at: .seconds(1091)),
            ]
        )
    }

    @Test func aSingleMotionIsAClipOfTheInitialTime() {
        var trigger = ClipTrigger(ClipTrigger.Times())
        #expect(trigger.motion(at: .seconds(5)) == [.began(.motion, at: .seconds(5))])
        #expect(trigger.turn(at: .seconds(15)) == [])
        #expect(trigger.turn(at: .seconds(16)) == [.ended(.quiet, at: .seconds(15))])
        #expect(trigger.isBlind(at: .seconds(45)) && !trigger.isBlind(at: .seconds(46)))
    }

    @Test func aCommandIsHeardWhileMotionIsNot() {
        var trigger = ClipTrigger(ClipTrigger.Times())
        _ = trigger.motion(at: .seconds(5))
        _ = trigger.turn(at: .seconds(16))
        #expect(trigger.motion(at: .seconds(20)) == [])
        #expect(trigger.command(at: .seconds(21)) == [.began(.command, at: .seconds(21))])
        #expect(trigger.turn(at: .seconds(40)) == [.ended(.quiet, at: .seconds(31))])
        #expect(trigger.motion(at: .seconds(41)) == [.began(.motion, at: .seconds(41))], "no blind time after it")
    }
}
