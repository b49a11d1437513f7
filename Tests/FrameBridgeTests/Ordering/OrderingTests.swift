import Testing

@testable import FrameBridge

/// The order of loads and stores, in every interleaving that a weak memory allows. Hardware shows few of them, and x86 none
/// of the worst.
@Suite struct OrderingTests {
    /// Every slot is written, and one of them again.
    private static let lap: [WriterTrace.Act] = [.publish, .publish, .publish, .publish]
    private static let resize: [WriterTrace.Act] = [.publish, .publish, .resize, .publish]

    /// Invariant: whole.
    @Test func twoReadersSeeWholeFramesOnlyAndMissNone() throws {
        let states = try OrderingModel(WriterTrace(Self.lap), mistake: nil).explore(reads: [1, 1])
        #expect(states > 100_000, "that is not every interleaving")
        _ = try OrderingModel(WriterTrace(Self.resize), mistake: nil).explore(reads: [2, 1])
    }

    @Test func aReaderThatStaysSeesWholeFramesOnlyAndMissesNone() throws {
        let laps = WriterTrace(Self.lap + Self.lap)
        #expect(try OrderingModel(laps, mistake: nil).explore(reads: [3]) > 100_000)
        let resized = WriterTrace(Self.resize + Self.resize)
        _ = try OrderingModel(resized, mistake: nil).explore(reads: [4])
    }

    @Test(arguments: [lap, resize])
    func whereverTheWriterDiesItsLastFrameIsThere(acts: [WriterTrace.Act]) throws {
        let life = WriterTrace(acts)
        for count in 0...life.events.count {
            let death = OrderingModel(life.killed(after: count), mistake: nil)
            _ = try death.explore(reads: [2])
            try death.checkRecovery()
        }
    }

    /// Invariant: survives.
    @Test func whereverTheWriterDiesReadersFollowItsSuccessor() throws {
        let life = WriterTrace([.publish, .publish])
        for count in 0...life.events.count {
            let lives = OrderingModel(life.killed(after: count).succeeded(by: [.publish]), mistake: nil)
            _ = try lives.explore(reads: [1, 1])
            _ = try lives.explore(reads: [3])
            try lives.checkRecovery()
        }
    }

    /// The model sees mistakes: each breaks a promise somewhere.
    @Test(arguments: Mistake.allCases)
    func everyMistakeIsFound(mistake: Mistake) {
        #expect(throws: OrderingModel.Violation.self) {
            let laps = WriterTrace(Self.lap + Self.lap, mistake)
            _ = try OrderingModel(laps, mistake: mistake).explore(reads: [2])
            for count in 0...laps.events.count {
                try OrderingModel(laps.killed(after: count), mistake: mistake).checkRecovery()
            }
        }
    }
}
