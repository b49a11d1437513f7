import Glibc
import Posix
import Time

/// The folder of a broadcast, as its one writer owns it: the writer's lock, the status, requests and answers, and the
/// generations of all rings, which begin and end together.
///
/// The folder knows the name and the file of a ring, and the words of `RingHeader`. The rest of the file, and the order
/// of its stores, belong to the ring.
///
/// Invariant: the lock is held as long as this value lives. The kernel frees it with the process. A successor then
/// clears away the remains.
struct BroadcastFolder: ~Copyable {
    static let lockFile = "writer.lock"
    private static let checkInterval = Duration.milliseconds(500)

    let directory: BridgeDirectory
    private let lock: FileDescriptor
    private let readerLock: FileDescriptor
    /// The names of all rings that this writer or one before may have made.
    private let rings: [String]
    private var status: BridgeStatus
    private var stateSince: Instant = MonotonicClock.now()
    var control: ControlWriter
    /// The files of the present generation, one for each of its rings; empty if there is none, or a file was removed.
    private var files: [RingFile] = []
    /// The generation before, for readers that have not followed yet. Kept until the next check of the files.
    private var retired: [RingFile] = []
    /// The headers that earlier writers left, for readers that have not followed yet. Kept until this writer has a
    /// generation.
    private var left: [RingHeader]
    private var horizon: Instant?
    /// When the files are checked next; nil before the first heartbeat, which checks them.
    private var checkAt: Instant?

    /// Begins as `FrameWriter` does.
    ///
    /// - Parameters:
    ///   - rings: the names of the rings whose files are cleared away.
    ///   - source: the source in words for a successor: at most 4080 bytes.
    init(_ directory: BridgeDirectory, rings: [String], source: String) throws(BridgeError) {
        let lock = try directory.openLock(Self.lockFile)
        let readerLock = try directory.openLock(FrameReader.lockFile)
        let taken = try directory.calling(on: Self.lockFile) { () throws(SystemError) in try lock.tryLock(.exclusive) }
        guard taken else {
            throw .alreadyRunning(path: directory.path, pid: (try? directory.status())??.pid)
        }
        let recovered = RecoveredState(in: directory)
        let status = BridgeStatus(
            state: recovered.isPaused ? .paused : .starting,
            reason: "",
            generation: 0,
            pid: getpid(),
            startedAt: MonotonicClock.now()
        )
        let isWritten = (try? status.write(to: directory, holding: lock)) != nil
        var left = Self.clearAway(rings, in: directory)
        let horizon = left.compactMap(\.horizon).max()
        if !isWritten {
            // Removing the files of a dead writer has made room for the status, except for files that readers still
            // map.
            if let isRead = try? readerLock.isLockedByAnother(against: .exclusive), !isRead { left = [] }
            try status.write(to: directory, holding: lock)
        }
        control = try ControlWriter(after: recovered, in: directory, source: source)
        self.directory = directory
        self.lock = lock
        self.readerLock = readerLock
        self.rings = rings
        self.status = status
        self.left = left
        self.horizon = horizon
        if recovered.isPaused { setHorizon(MonotonicClock.now()) }
    }

    /// Removes the remains of a killed writer, and returns the headers of its rings.
    private static func clearAway(_ rings: [String], in directory: BridgeDirectory) -> [RingHeader] {
        let names = directory.fileNames().filter { $0 != BridgeDirectory.spare(BridgeStatus.fileName) }
        func isRing(_ name: String) -> Bool { rings.contains { RingFile.isFile(name, of: $0) } }
        let left = names.filter(isRing).compactMap { RingHeader(leftAt: $0, in: directory) }
        // The data of a retired file is shown until the successor has a generation.
        for header in left { header.setState(.retired) }
        func isTemporary(_ name: String) -> Bool {
            name.hasPrefix(".") && !RingFile.isFile(name, of: "." + SoundWriter.soundRing)
        }
        for name in names where isRing(name) || isTemporary(name) || name == "request" {
            directory.remove(name)
        }
        return left
    }

    var state: BroadcastState { status.state }

    /// The present generation; 0 if there is none.
    var generation: UInt64 { status.generation }

    var hasReaders: Bool { (try? readerLock.isLockedByAnother(against: .exclusive)) ?? true }

    // MARK: - Common to all rings

    /// Forbids readers to show older captures, in any ring.
    mutating func setHorizon(_ instant: Instant) {
        let horizon = max(horizon ?? instant, instant)
        self.horizon = horizon
        for file in files + retired { file.header.setHorizon(horizon) }
        for header in left { header.setHorizon(horizon) }
    }

    /// Sets the state in all headers and in the status file, and wakes the readers.
    mutating func setState(_ state: BroadcastState, reason: String = "") throws(BridgeError) {
        guard status.state != state || status.reason != reason else { return }
        let changesPause = (status.state == .paused) != (state == .paused)
        if status.state != state { stateSince = MonotonicClock.now() }
        status.state = state
        status.reason = reason
        if state == .error || state == .sourceLost {
            status.lastError = BridgeStatus.Mishap(reason: reason, at: MonotonicClock.now())
        }
        // The pause is written first, so that it is not lost with this process.
        if changesPause, state != .stopped { control.keepPause(state == .paused) }
        for file in files { file.header.setState(state, since: stateSince) }
        try status.write(to: directory, holding: lock)
    }

    /// Sets the process of the shown window in the status file.
    mutating func setWindowProcess(_ process: Int32?) throws(BridgeError) {
        guard status.windowProcess != process else { return }
        status.windowProcess = process
        try status.write(to: directory, holding: lock)
    }

    /// Does what `FrameWriter.heartbeat` promises. Returns false if a file of the present generation was removed or
    /// shrunk. The generation has ended then.
    ///
    /// - Parameter now: decides whether the files are checked.
    mutating func heartbeat(at now: Instant) -> Bool {
        for file in files { file.header.heartbeat() }
        if let checkAt, now < checkAt { return true }
        checkAt = now + Self.checkInterval
        retired = []
        if !files.isEmpty { left = [] }
        control.mend(isPaused: state == .paused)
        if !status.isWritten(in: directory) { try? status.write(to: directory, holding: lock) }
        if files.allSatisfy({ $0.isInPlace(in: directory) }) { return true }
        for file in files { file.header.setState(.retired) }
        files = []
        return false
    }

    // MARK: - Generations

    /// Makes another generation, and names it only then: a new reader finds the data that `make` has put into its
    /// rings. If that fails, the generation before stays.
    ///
    /// - Parameter make: makes the files of all rings, with their first data.
    mutating func beginGeneration<Rings>(
        _ make: (inout NewGeneration) throws(BridgeError) -> Rings
    ) throws(BridgeError) -> Rings {
        let previous = status.generation
        var next = NewGeneration(directory: directory, state: status.state, stateSince: stateSince, horizon: horizon)
        // The files of a dead writer take up room while they are mapped here. Only readers need them.
        if !hasReaders { left = [] }
        let made: Rings
        do throws(BridgeError) {
            made = try make(&next)
            status.generation = next.number
            try status.write(to: directory, holding: lock)
        } catch {
            status.generation = previous
            for file in next.files { directory.remove(file.name) }
            throw error
        }
        for file in files { file.header.setState(.retired) }
        retired = files
        checkAt = MonotonicClock.now() + Self.checkInterval
        files = next.files
        removeFiles(of: previous)
        return made
    }

    private func removeFiles(of generation: UInt64) {
        guard generation != 0 else { return }
        for ring in rings { directory.remove(RingFile.name(of: ring, generation)) }
    }

    /// Sets the state `stopped`, removes the files of the generation and releases the lock.
    consuming func stop(reason: String) throws(BridgeError) {
        let generation = status.generation
        status.generation = 0
        do throws(BridgeError) {
            try setState(.stopped, reason: reason)
            removeFiles(of: generation)
        } catch {
            // Removing the files makes room for the status.
            removeFiles(of: generation)
            try status.write(to: directory, holding: lock)
        }
        directory.remove(ControlFile.fileName)
        directory.remove(BridgeDirectory.spare(BridgeStatus.fileName))
    }
}
