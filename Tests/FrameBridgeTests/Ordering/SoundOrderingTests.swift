import Testing

@testable import FrameBridge

/// The order of loads and stores of sound, in every interleaving that a weak memory allows.
@Suite struct SoundOrderingTests {
    private typealias Act = SoundTrace.Act

    private static func publish(_ instants: UInt64...) -> [Act] { instants.map { .publish(capturedAt: $0) } }

    /// Each slot is written twice, and one of them again.
    private static let laps = publish(1, 2, 3, 4, 5)
    /// The third block was captured before what is hidden, and published after that was.
    private static let mute = publish(1) + [.hide(before: 3)] + publish(2, 3)
    private static let replaced = publish(1) + [.lose, .replace] + publish(2)
    /// What is hidden lies in the generation before.
    private static let muted = publish(1) + [.lose, .replace, .hide(before: 2)] + publish(3)

    /// All that the tests explore, without a death.
    private static let lives = [laps, mute, replaced, muted]

    /// Invariant: whole.
    @Test(arguments: lives)
    func aReaderGetsWholeBlocksInOrderAndLearnsWhatItLost(acts: [SoundTrace.Act]) throws {
        let model = SoundOrderingModel(SoundTrace(acts), mistake: nil)
        #expect(try model.explore(reads: 5) > 1_000, "that is not every interleaving")
        try model.checkRecovery()
    }

    @Test(arguments: lives)
    func whereverTheWriterDiesItsBlocksAreThere(acts: [SoundTrace.Act]) throws {
        let life = SoundTrace(acts)
        for count in 0...life.events.count {
            let death = SoundOrderingModel(life.killed(after: count), mistake: nil)
            _ = try death.explore(reads: 3)
            try death.checkRecovery()
        }
    }

    @Test(arguments: [laps.dropLast(3), mute.dropLast(1), replaced.dropLast(1)].map(Array.init))
    func whereverTheWriterDiesReadersFollowItsSuccessor(acts: [SoundTrace.Act]) throws {
        let life = SoundTrace(acts)
        for count in 0...life.events.count {
            let lives = SoundOrderingModel(life.killed(after: count).succeeded(by: Self.publish(4)), mistake: nil)
            _ = try lives.explore(reads: 4)
            try lives.checkRecovery()
        }
    }

    /// Two writers die, one after the other, and each anywhere.
    /// Invariant: survives.
    @Test func severalDeathsLeaveNobodyBehind() throws {
        let life = SoundTrace(Self.publish(1))
        for first in 0...life.events.count {
            let second = life.killed(after: first).succeeded(by: Self.publish(2))
            for count in first...second.events.count {
                let lives = second.killed(after: count).succeeded(by: Self.publish(3))
                let model = SoundOrderingModel(lives, mistake: nil)
                _ = try model.explore(reads: 2)
                try model.checkRecovery()
            }
        }
    }

    /// The model sees mistakes: each breaks a promise somewhere.
    @Test(arguments: SoundMistake.allCases)
    func everyMistakeIsFound(mistake: SoundMistake) {
        #expect(throws: SoundOrderingModel.Violation.self) {
            for acts in Self.lives {
                let life = SoundTrace(acts, mistake)
                _ = try SoundOrderingModel(life, mistake: mistake).explore(reads: 4)
                for count in 0...life.events.count {
                    try SoundOrderingModel(life.killed(after: count), mistake: mistake).checkRecovery()
                }
            }
            let successor = SoundTrace(Self.publish(1), mistake).succeeded(by: Self.publish(2))
            _ = try SoundOrderingModel(successor, mistake: mistake).explore(reads: 3)
        }
    }
}
