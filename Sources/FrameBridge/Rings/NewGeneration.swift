import Posix
import Time

/// A generation that no reader knows yet. The rings make their files in it. Then the folder names it.
struct NewGeneration {
    /// Random, never 0.
    let number: UInt64
    let directory: BridgeDirectory
    /// The first state in its files, and when it began.
    let state: BroadcastState
    let stateSince: Instant
    /// Captures before this instant must not be shown any more; nil for no such instant.
    let horizon: Instant?
    /// The files made so far.
    var files: [RingFile] = []

    init(in directory: BridgeDirectory, state: BroadcastState, since: Instant, horizon: Instant?) {
        var number: UInt64 = 0
        while number == 0 { number = .random(in: .min ... .max) }
        self.number = number
        self.directory = directory
        (self.state, stateSince) = (state, since)
        self.horizon = horizon
    }
}
