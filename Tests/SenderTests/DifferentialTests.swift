import Differential
import Testing

/// What decoders show, frame by frame, of random desktops. `tools/differential` does the same for as long as one likes.
@Suite struct DifferentialTests {
    /// Invariant: exact.
    @Test(arguments: 1...6 as ClosedRange<UInt64>)
    func decodersShowWhatTheSenderBelieves(seed: UInt64) throws {
        var differential = try Differential(seed: seed, largest: 160 * 120, recordedShare: 6)
        while differential.tally.frameCount < 400 { try differential.runEpisode() }
    }
}
