import Posix
import Time

/// A generation that no reader knows yet. The rings make their files in it. Then the folder names it.
struct NewGeneration {
    /// Random, never 0.
    let number = UInt64.random(in: 1 ... .max)
    let directory: BridgeDirectory
    /// The first state in its files, and when it began.
    let state: BroadcastState
    let stateSince: Instant
    /// Captures before this instant must not be shown any more; nil for no such instant.
    let horizon: Instant?
    /// The files made so far.
    var files: [RingFile] = []
}
