import Posix
public import Time

/// The writing end of a bridge: one in a broadcast folder at a time, used by one thread.
///
/// A writer may be killed at any instruction. Its lock is then free, the frames file keeps its last whole picture, and
/// the next writer begins a new generation: a frames file is never written by a second process.
public struct FrameWriter: ~Copyable {
    private var folder: BroadcastFolder
    private var frames: FrameRing?
    /// What is shown, for people.
    private var source: String
    private let framesPerSecond: Int
    private let storage: FrameStorage
    private var startsOver = false
    private var frameNumber: UInt64 = 0
    /// The frame that was published last; its publish time is not filled in.
    public private(set) var lastFrame: FrameInfo?

    /// Takes the writer lock, says `starting`, and clears away what a writer that was killed left behind. If that one was
    /// paused, or asked to be, this one is paused from the start.
    ///
    /// - Parameters:
    ///   - directory: the broadcast's folder.
    ///   - source: what is shown, for people; cut after 127 bytes.
    ///   - sourceWords: what is shown, for a successor: at most 4080 bytes, told by `BridgeDirectory.shownSource`.
    ///   - framesPerSecond: the nominal rate.
    ///   - storage: where the frames lie.
    /// - Throws: `alreadyRunning` when another process holds the lock.
    public init(
        directory: BridgeDirectory,
        source: String,
        sourceWords: String = "",
        framesPerSecond: Int,
        storage: FrameStorage = .file
    ) throws(BridgeError) {
        folder = try BroadcastFolder(directory, rings: [FrameRing.name], source: sourceWords)
        self.source = source
        self.framesPerSecond = framesPerSecond
        self.storage = storage
    }

    // MARK: - The folder

    /// What this broadcast says of itself.
    public var state: BroadcastState { folder.state }

    /// Whether any reader is attached.
    public var hasReaders: Bool { folder.hasReaders }

    /// Says that something else is shown: `source` for people, cut after 127 bytes, and `words` for a successor, at most 4080
    /// bytes. Throws, and changes nothing, where a successor would not learn of it.
    public mutating func setSource(_ source: String, words: String) throws(BridgeError) {
        try folder.control.setSource(words)
        self.source = source
        frames?.setSource(source)
    }

    /// Says whose window is shown, for the process that hears what its program plays; nil if that is not known. What cannot be
    /// written is tried again with the heartbeats.
    package mutating func setWindowProcess(_ process: Int32?) throws(BridgeError) {
        try folder.setWindowProcess(process)
    }

    /// Takes the request that waits, if any. One that is not answered is given again.
    public mutating func takeRequest() -> BridgeRequest? { folder.control.takeRequest() }

    /// Answers the request that was taken last. A pause is granted only once it outlives this process: until then
    /// `takeRequest` gives it again.
    public mutating func answer(_ answer: BridgeAnswer) { folder.control.answer(answer) }

    /// Says what state the broadcast is in, in the header page and in the status file, and wakes the readers. What cannot be
    /// written is tried again with the heartbeats.
    public mutating func setState(_ state: BroadcastState, reason: String = "") throws(BridgeError) {
        try folder.setState(state, reason: reason)
    }

    /// Tells the readers that the writer lives. Call it at every tick, with or without a frame.
    ///
    /// Now and then it also restores files that are gone or damaged, and repeats writes that failed.
    ///
    /// - Returns: false when somebody removed or shrank the frames file: then publish, which begins a new generation.
    public mutating func heartbeat() -> Bool { heartbeat(at: MonotonicClock.now()) }

    mutating func heartbeat(at now: Instant) -> Bool {
        if folder.heartbeat(at: now) { return true }
        frames = nil
        return false
    }

    /// Says `stopped`, removes the frames file and gives the lock back.
    public consuming func stop(reason: String = "") throws(BridgeError) { try folder.stop(reason: reason) }

    /// Forbids readers to show what was captured before an instant.
    public mutating func hide(before instant: Instant) { folder.setHorizon(instant) }

    // MARK: - The frames

    /// The next frame has nothing in common with those before, and begins a new generation.
    public mutating func startOver() { startsOver = true }

    /// Writes one frame and wakes the readers.
    ///
    /// A picture that the present frames file cannot hold, or a frames file that somebody shrank, begins a new
    /// generation; then `body` may be called a second time.
    ///
    /// - Parameters:
    ///   - info: size and origin of the picture; number and publish time are filled in.
    ///   - leavingNothingElse: puts the picture into every slot, so that no earlier one stays in the file, and forbids readers
    ///     to show what was captured earlier to anybody from now on; `body` is called once for each slot, and draws the
    ///     whole picture.
    ///   - body: writes every pixel into the planes, or those of the tiles that it names as drawn.
    public mutating func publish(
        _ info: FrameInfo,
        leavingNothingElse: Bool = false,
        _ body: (inout FramePlanes) -> Void
    ) throws(BridgeError) {
        // Pictures that must not be seen any more go at once, also where there is no room for another file.
        let usesPresentFile = !startsOver || leavingNothingElse
        if leavingNothingElse { folder.setHorizon(info.capturedAt) }
        for _ in 0..<(leavingNothingElse ? Layout.slotCount : 1) {
            try publishOnce(info, usesPresentFile: usesPresentFile, body)
        }
    }

    private mutating func publishOnce(
        _ info: FrameInfo,
        usesPresentFile: Bool,
        _ body: (inout FramePlanes) -> Void
    ) throws(BridgeError) {
        guard let plan = SlotPlan(width: info.width, height: info.height) else {
            throw .invalidSize(width: info.width, height: info.height)
        }
        frameNumber += 1
        var info = info
        info.number = frameNumber
        let isWritten =
            if usesPresentFile, let frames, frames.holds(plan) { frames.write(info, plan, body) } else { false }
        if !isWritten { try beginGeneration(plan, with: info, body) }
        info.generation = folder.generation
        lastFrame = info
        if folder.state == .starting { try folder.setState(.active) }
    }

    /// The first frame is in the new generation before readers are told of it.
    private mutating func beginGeneration(
        _ plan: SlotPlan,
        with info: FrameInfo,
        _ body: (inout FramePlanes) -> Void
    ) throws(BridgeError) {
        let (storage, source, framesPerSecond) = (storage, source, framesPerSecond)
        frames = try folder.beginGeneration { next throws(BridgeError) in
            let frames = try FrameRing(
                in: &next,
                storage: storage,
                plan: plan,
                source: source,
                framesPerSecond: framesPerSecond
            )
            guard frames.write(info, plan, body) else {
                throw .damaged(path: next.directory.path, problem: "shrunk while it was written")
            }
            return frames
        }
        startsOver = false
    }
}
