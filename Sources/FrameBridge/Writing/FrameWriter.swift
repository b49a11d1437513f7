import Posix
public import Time

/// The writing end of a bridge. A broadcast folder has one at a time, and one thread uses it.
///
/// A writer may be killed at any instruction. Its lock is then free, and the frames file keeps its last whole picture.
/// The next writer begins a new generation: a frames file is never written by a second process.
public struct FrameWriter: ~Copyable {
    private var folder: BroadcastFolder
    private var frames: FrameRing?
    /// The source, in words for people.
    private var source: String
    private let framesPerSecond: Int
    private let storage: FrameStorage
    private var startsOver = false
    private var frameNumber: UInt64 = 0
    /// The last published frame, without its publish time.
    public private(set) var lastFrame: FrameInfo?

    /// Takes the writer lock, sets the state `starting`, and clears away the remains of a killed writer. If that writer
    /// was paused, or asked to pause, this one is paused from the start.
    ///
    /// - Parameters:
    ///   - directory: the broadcast's folder.
    ///   - source: the source in words for people; cut after 127 bytes.
    ///   - sourceWords: the source in words for a successor, which `BridgeDirectory.shownSource` returns: at most 4080
    ///     bytes.
    ///   - framesPerSecond: the nominal rate.
    ///   - storage: where the frames are stored.
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

    /// This broadcast's own state.
    public var state: BroadcastState { folder.state }

    /// Whether any reader is attached.
    public var hasReaders: Bool { folder.hasReaders }

    /// Sets another source: `source` for people, cut after 127 bytes, and `words` for a successor, at most 4080 bytes.
    /// Throws, and changes nothing, if it cannot be kept for a successor.
    public mutating func setSource(_ source: String, words: String) throws(BridgeError) {
        try folder.control.setSource(words)
        self.source = source
        frames?.setSource(source)
    }

    /// Sets the process of the shown window, for the process that captures its sound; nil if unknown. A failed write is
    /// repeated with the heartbeats.
    package mutating func setWindowProcess(_ process: Int32?) throws(BridgeError) {
        try folder.setWindowProcess(process)
    }

    /// Takes the waiting request, if any. An unanswered one is given again.
    public mutating func takeRequest() -> BridgeRequest? { folder.control.takeRequest() }

    /// Answers the request that was taken last. A pause is granted only once it outlives this process. Until then
    /// `takeRequest` gives it again.
    public mutating func answer(_ answer: BridgeAnswer) { folder.control.answer(answer) }

    /// Sets the state of the broadcast in the header page and in the status file, and wakes the readers. A failed write
    /// is repeated with the heartbeats.
    public mutating func setState(_ state: BroadcastState, reason: String = "") throws(BridgeError) {
        try folder.setState(state, reason: reason)
    }

    /// Shows the readers that the writer lives. Call it at every tick, with or without a frame.
    ///
    /// Now and then it also restores files that are missing or damaged, and repeats failed writes.
    ///
    /// - Returns: false if the frames file was removed or shrunk: then publish, which begins a new generation.
    public mutating func heartbeat() -> Bool { heartbeat(at: MonotonicClock.now()) }

    mutating func heartbeat(at now: Instant) -> Bool {
        if folder.heartbeat(at: now) { return true }
        frames = nil
        return false
    }

    /// Sets the state `stopped`, removes the frames file and releases the lock.
    public consuming func stop(reason: String = "") throws(BridgeError) { try folder.stop(reason: reason) }

    /// Forbids readers to show captures before an instant.
    public mutating func hide(before instant: Instant) { folder.setHorizon(instant) }

    // MARK: - The frames

    /// Makes the next frame independent of those before: it begins a new generation.
    public mutating func startOver() { startsOver = true }

    /// Writes one frame and wakes the readers.
    ///
    /// A picture that the present frames file cannot hold, or a frames file that somebody shrank, begins a new
    /// generation; then `body` may be called a second time.
    ///
    /// - Parameters:
    ///   - info: size and origin of the picture. Number and publish time are filled in.
    ///   - leavingNothingElse: puts the picture into every slot, so that no earlier one stays in the file, and forbids
    ///     readers to show earlier captures to anybody from now on. `body` is then called once for each slot, and draws
    ///     the whole picture.
    ///   - body: writes every pixel into the planes, or those of the tiles that it names as drawn.
    public mutating func publish(
        _ info: FrameInfo,
        leavingNothingElse: Bool = false,
        _ body: (inout FramePlanes) -> Void
    ) throws(BridgeError) {
        // Pictures that must not be seen any more go at once, even if there is no room for another file.
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

    /// The new generation has its first frame before readers are notified.
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
