import Glibc
import Posix

/// The writing end of a bridge: one in a broadcast folder at a time, used by one thread.
///
/// A writer may be killed at any instruction. Its lock is then free, the frames file keeps its last whole picture, and
/// the next writer begins a new generation: a frames file is never written by a second process.
public struct FrameWriter: ~Copyable {
    static let lockFile = "writer.lock"

    private let directory: BridgeDirectory
    private let lock: FileDescriptor
    private let readerLock: FileDescriptor
    private var source: String
    private let framesPerSecond: Int
    private let storage: FrameStorage
    private var status: BridgeStatus
    private var frames: FramesFile?
    private var startsOver = false
    private var frameNumber: UInt64 = 0
    private var checkAt: UInt64 = 0
    /// What was published last; its publish time is not filled in.
    public private(set) var lastFrame: FrameInfo?

    /// Takes the writer lock, says `starting`, and clears away what a writer that was killed left behind. If that one was
    /// paused, this one is too from the start.
    ///
    /// - Parameters:
    ///   - directory: the broadcast's folder.
    ///   - source: what is shown, for people; cut after 127 bytes.
    ///   - framesPerSecond: the nominal rate.
    ///   - storage: where the frames lie.
    /// - Throws: `alreadyRunning` when another process holds the lock.
    public init(
        directory: BridgeDirectory,
        source: String,
        framesPerSecond: Int,
        storage: FrameStorage = .file
    ) throws(BridgeError) {
        let lock = try directory.openLock(Self.lockFile)
        let readerLock = try directory.openLock(FrameReader.lockFile)
        let taken = try directory.calling(on: Self.lockFile) { () throws(SystemError) in try lock.tryLock(.exclusive) }
        guard taken else {
            throw .alreadyRunning(path: directory.path, pid: (try? directory.status())??.pid)
        }
        let previous = try? directory.status()
        let status = BridgeStatus(
            state: previous?.state == .paused ? .paused : .starting,
            reason: "",
            generation: 0,
            pid: getpid(),
            startedAt: MonotonicClock.now()
        )
        try status.write(to: directory, holding: lock)
        for name in directory.fileNames() where name != BridgeStatus.fileName {
            if name.hasPrefix("frames.") { FramesFile.retire(name, in: directory) }
            if name.hasPrefix("frames.") || name.hasPrefix(".") || name == "request" { directory.remove(name) }
        }
        self.directory = directory
        self.lock = lock
        self.readerLock = readerLock
        self.source = source
        self.framesPerSecond = framesPerSecond
        self.storage = storage
        self.status = status
    }

    /// What this broadcast says of itself.
    public var state: BroadcastState { status.state }

    /// Says that something else is shown, for people; cut after 127 bytes.
    public mutating func setSource(_ source: String) {
        self.source = source
        frames?.setSource(source)
    }

    /// The next frame has nothing in common with those before, and begins a new generation.
    public mutating func startOver() { startsOver = true }

    /// Whether any reader is attached.
    public var hasReaders: Bool { (try? readerLock.isLockedByAnother(against: .exclusive)) ?? true }

    /// Writes one frame and wakes the readers.
    ///
    /// A picture that the present frames file cannot hold, or a frames file that somebody shrank, begins a new
    /// generation; then `body` may be called a second time.
    ///
    /// - Parameters:
    ///   - info: size and origin of the picture; number and publish time are filled in.
    ///   - leavingNothingElse: puts the picture into every slot, so that no earlier one stays in the file; `body` is
    ///     called once for each, and draws the whole picture.
    ///   - body: writes every pixel into the planes, or those of the tiles that it names as drawn.
    public mutating func publish(
        _ info: FrameInfo,
        leavingNothingElse: Bool = false,
        _ body: (inout FramePlanes) -> Void
    ) throws(BridgeError) {
        // What must not be seen any more goes at once, also where there is no room for another file.
        let usesPresentFile = !startsOver || leavingNothingElse
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
        info.generation = status.generation
        lastFrame = info
        if status.state == .starting { try setState(.active) }
    }

    /// Tells the readers that the writer lives. Call it at every tick, with or without a frame.
    ///
    /// - Returns: false when somebody removed or shrank the frames file: then publish, which begins a new generation.
    public mutating func heartbeat() -> Bool {
        guard let frames else { return true }
        frames.heartbeat()
        let now = MonotonicClock.now()
        if now < checkAt { return true }
        checkAt = now + 500_000_000
        if frames.isInPlace(in: directory) { return true }
        frames.setState(.retired)
        self.frames = nil
        return false
    }

    /// Says what state the broadcast is in, in the header page and in the status file, and wakes the readers.
    public mutating func setState(_ state: BroadcastState, reason: String = "") throws(BridgeError) {
        guard status.state != state || status.reason != reason else { return }
        status.state = state
        status.reason = reason
        if state == .error || state == .sourceLost {
            status.lastError = BridgeStatus.Mishap(reason: reason, at: MonotonicClock.now())
        }
        frames?.setState(state)
        try status.write(to: directory, holding: lock)
    }

    /// Says `stopped`, removes the frames file and gives the lock back.
    public consuming func stop(reason: String = "") throws(BridgeError) {
        let generation = status.generation
        status.generation = 0
        try setState(.stopped, reason: reason)
        if generation != 0 { directory.remove(BridgeStatus.framesFile(generation)) }
    }

    /// Makes another generation, with its first frame, and only then names it: whoever comes finds a picture.
    private mutating func beginGeneration(
        _ plan: SlotPlan,
        with info: FrameInfo,
        _ body: (inout FramePlanes) -> Void
    ) throws(BridgeError) {
        var generation: UInt64 = 0
        while generation == 0 { generation = .random(in: .min ... .max) }
        let previous = status.generation
        let next = try FramesFile(
            in: directory,
            storage: storage,
            header: HeaderMetadata(generation: generation, plan: plan),
            state: status.state,
            source: source,
            framesPerSecond: framesPerSecond
        )
        do throws(BridgeError) {
            guard next.write(info, plan, body) else {
                throw .damaged(path: directory.path, problem: "shrunk while it was written")
            }
            status.generation = generation
            try status.write(to: directory, holding: lock)
        } catch {
            status.generation = previous
            directory.remove(BridgeStatus.framesFile(generation))
            throw error
        }
        frames?.setState(.retired)
        frames = next
        startsOver = false
        if previous != 0 { directory.remove(BridgeStatus.framesFile(previous)) }
    }
}
