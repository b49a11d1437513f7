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
    private(set) var files: [RingFile] = []

    init(in directory: BridgeDirectory, state: BroadcastState, since: Instant, horizon: Instant?) {
        var number: UInt64 = 0
        while number == 0 { number = .random(in: .min ... .max) }
        self.number = number
        self.directory = directory
        (self.state, stateSince) = (state, since)
        self.horizon = horizon
    }

    /// Makes the file of a ring, with all its blocks.
    ///
    /// - Parameters:
    ///   - ring: the name of the ring, one of those that the folder knows.
    ///   - bytes: the size of the file, a header page at least.
    ///   - prepare: stores the ring's first data in its header.
    /// - Throws: `noSpace`, or `system`.
    mutating func makeFile(
        of ring: String,
        bytes: Int,
        storage: FrameStorage,
        _ prepare: (Mapping) -> Void
    ) throws(BridgeError) -> RingFile {
        let file = try RingFile(ring, of: self, bytes: bytes, storage: storage, prepare)
        files.append(file)
        return file
    }
}
