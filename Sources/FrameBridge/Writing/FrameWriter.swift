import Glibc
import Posix

/// The writing end of a bridge: one in a broadcast folder at a time, used by one thread.
///
/// A writer may be killed at any instruction. Its lock is then free, the frames file keeps its last whole picture, and
/// the next writer begins a new generation: a frames file is never written by a second process.
public struct FrameWriter: ~Copyable {
    static let lockFile = "writer.lock"
    /// Between two looks after the files, in nanoseconds.
    private static let checkInterval: UInt64 = 500_000_000

    private let directory: BridgeDirectory
    private let lock: FileDescriptor
    private let readerLock: FileDescriptor
    private var source: String
    private var sourceWords: String
    private let framesPerSecond: Int
    private let storage: FrameStorage
    private var status: BridgeStatus
    private var control: ControlFile
    /// The request that was taken last and waits for its answer.
    private var asked: ControlFile.Record?
    /// Whether a successor would know whether the broadcast is paused.
    private var isPauseKept = false
    private var frames: FrameRing?
    /// The generation before, for readers who have not followed yet; until the next look after the files.
    private var retired: RingFile?
    /// What writers before left, for readers who have not followed yet; until this one has frames.
    private var left: [RingHeader]
    /// What was captured before is not to be shown any more: nanoseconds of CLOCK_MONOTONIC.
    private var horizon: UInt64 = 0
    private var startsOver = false
    private var frameNumber: UInt64 = 0
    private var checkAt: UInt64 = 0
    /// What was published last; its publish time is not filled in.
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
        let lock = try directory.openLock(Self.lockFile)
        let readerLock = try directory.openLock(FrameReader.lockFile)
        let taken = try directory.calling(on: Self.lockFile) { () throws(SystemError) in try lock.tryLock(.exclusive) }
        guard taken else {
            throw .alreadyRunning(path: directory.path, pid: (try? directory.status())??.pid)
        }
        let heritage = Heritage(in: directory)
        let status = BridgeStatus(
            state: heritage.isPaused ? .paused : .starting,
            reason: "",
            generation: 0,
            pid: getpid(),
            startedAt: MonotonicClock.now()
        )
        var left: [RingHeader]
        let horizon: UInt64
        do throws(BridgeError) {
            try status.write(to: directory, holding: lock)
            left = Self.clearAway(in: directory)
            horizon = left.map(\.horizon).max() ?? 0
        } catch {
            // What is cleared away makes room, but for what a reader has.
            left = Self.clearAway(in: directory)
            horizon = left.map(\.horizon).max() ?? 0
            if let isRead = try? readerLock.isLockedByAnother(against: .exclusive), !isRead { left = [] }
            try status.write(to: directory, holding: lock)
        }
        control = try heritage.makeControl(in: directory, source: sourceWords)
        isPauseKept = true
        self.directory = directory
        self.lock = lock
        self.readerLock = readerLock
        self.source = source
        self.sourceWords = sourceWords
        self.framesPerSecond = framesPerSecond
        self.storage = storage
        self.status = status
        self.left = left
        self.horizon = horizon
        if heritage.isPaused { setHorizon(MonotonicClock.now()) }
    }

    /// Removes what a killed writer left, and returns its frames.
    private static func clearAway(in directory: BridgeDirectory) -> [RingHeader] {
        let names = directory.fileNames().filter { $0 != BridgeDirectory.spare(BridgeStatus.fileName) }
        let left = names.filter { $0.hasPrefix("frames.") }.compactMap { RingHeader(retiring: $0, in: directory) }
        for name in names where name.hasPrefix("frames.") || name.hasPrefix(".") || name == "request" {
            directory.remove(name)
        }
        return left
    }

    /// Forbids readers to show what was captured before.
    private mutating func setHorizon(_ instant: UInt64) {
        horizon = max(horizon, instant)
        for file in [frames?.file, retired] { file?.header.setHorizon(horizon) }
        for header in left { header.setHorizon(horizon) }
    }

    /// What this broadcast says of itself.
    public var state: BroadcastState { status.state }

    /// Says that something else is shown: `source` for people, cut after 127 bytes, and `words` for a successor, at most 4080
    /// bytes. Throws, and changes nothing, where a successor would not learn of it.
    public mutating func setSource(_ source: String, words: String) throws(BridgeError) {
        do { try control.write(words, to: .source) } catch {
            throw .writing(ControlFile.fileName, words.utf8.count, in: directory, error)
        }
        self.source = source
        sourceWords = words
        frames?.setSource(source)
    }

    /// Takes what waits to be done, if anything. What is not answered is given again.
    public mutating func takeRequest() -> BridgeRequest? {
        asked = control.waitingRecord
        guard let asked else { return directory.takeRequestFile() }
        if let request = BridgeRequest(text: asked.text) { return request }
        answer(.refused("it is not known how to \(asked.text)"))
        return nil
    }

    /// Answers the request that was taken last. That a pause is granted is said only once it outlives this process: until
    /// then it is given again by `takeRequest`.
    public mutating func answer(_ answer: BridgeAnswer) {
        guard let asked else { return }
        let text: String
        switch answer {
        case .granted:
            if BridgeRequest(text: asked.text)?.pauses ?? false, !isPauseKept { return }
            text = ""
        case .refused(let reason):
            text = String(decoding: reason.utf8.prefix(ControlFile.longestText - 2), as: UTF8.self)
        }
        try? control.write(ControlFile.Record(number: asked.number, text: text), to: .answer)
        self.asked = nil
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
    ///   - leavingNothingElse: puts the picture into every slot, so that no earlier one stays in the file, and forbids readers
    ///     to show what was captured earlier to anybody from now on; `body` is called once for each slot, and draws the
    ///     whole picture.
    ///   - body: writes every pixel into the planes, or those of the tiles that it names as drawn.
    public mutating func publish(
        _ info: FrameInfo,
        leavingNothingElse: Bool = false,
        _ body: (inout FramePlanes) -> Void
    ) throws(BridgeError) {
        // What must not be seen any more goes at once, also where there is no room for another file.
        let usesPresentFile = !startsOver || leavingNothingElse
        if leavingNothingElse { setHorizon(info.capturedAt) }
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
    /// At times it also mends the other files, and writes again what could not be written.
    ///
    /// - Returns: false when somebody removed or shrank the frames file: then publish, which begins a new generation.
    public mutating func heartbeat() -> Bool {
        frames?.file.header.heartbeat()
        let now = MonotonicClock.now()
        if now < checkAt { return true }
        checkAt = now + Self.checkInterval
        retired = nil
        if frames != nil { left = [] }
        if !isPauseKept || !control.isInPlace(in: directory) { keepPause() }
        if !status.isWritten(in: directory) { try? status.write(to: directory, holding: lock) }
        guard let frames, !frames.file.isInPlace(in: directory) else { return true }
        frames.file.header.setState(.retired)
        self.frames = nil
        return false
    }

    /// Says what state the broadcast is in, in the header page and in the status file, and wakes the readers. What cannot be
    /// written is tried again with the heartbeats.
    public mutating func setState(_ state: BroadcastState, reason: String = "") throws(BridgeError) {
        guard status.state != state || status.reason != reason else { return }
        let changesPause = (status.state == .paused) != (state == .paused)
        status.state = state
        status.reason = reason
        if state == .error || state == .sourceLost {
            status.lastError = BridgeStatus.Mishap(reason: reason, at: MonotonicClock.now())
        }
        if changesPause, state != .stopped { keepPause() }
        frames?.file.header.setState(state)
        try status.write(to: directory, holding: lock)
    }

    /// First of all that is written of a pause, so that it is not lost with this process.
    private mutating func keepPause() {
        let pause = state == .paused ? state.name : ""
        do {
            if control.isInPlace(in: directory) {
                try control.write(pause, to: .pause)
            } else {
                // Somebody removed it. What was asked is asked again.
                control = try ControlFile(makingIn: directory, pause: pause, source: sourceWords)
            }
            isPauseKept = true
        } catch {
            isPauseKept = false
        }
    }

    /// Says `stopped`, removes the frames file and gives the lock back.
    public consuming func stop(reason: String = "") throws(BridgeError) {
        let generation = status.generation
        status.generation = 0
        do throws(BridgeError) {
            try setState(.stopped, reason: reason)
            if generation != 0 { directory.remove(BridgeStatus.framesFile(generation)) }
        } catch {
            // What is removed makes room.
            if generation != 0 { directory.remove(BridgeStatus.framesFile(generation)) }
            try status.write(to: directory, holding: lock)
        }
        directory.remove(ControlFile.fileName)
        directory.remove(BridgeDirectory.spare(BridgeStatus.fileName))
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
        // They would take the room that nobody needs.
        if !hasReaders { left = [] }
        let next = try FrameRing(
            in: directory,
            storage: storage,
            header: HeaderMetadata(generation: generation, plan: plan),
            state: status.state,
            source: source,
            framesPerSecond: framesPerSecond
        )
        next.file.header.setHorizon(horizon)
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
        frames?.file.header.setState(.retired)
        retired = frames?.file
        checkAt = MonotonicClock.now() + Self.checkInterval
        frames = next
        startsOver = false
        if previous != 0 { directory.remove(BridgeStatus.framesFile(previous)) }
    }
}
