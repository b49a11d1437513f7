import Glibc
package import Posix
public import Time

/// A reading end of a bridge. Any number of readers may be attached, in any process. Each is used by one thread.
///
/// A reader writes nothing that the writer depends on, so it may be killed at any instruction. It follows the writer
/// from generation to generation by itself, also over the death and restart of the capture process.
public struct FrameReader: ~Copyable {
    static let lockFile = "reader.lock"

    /// How a reader accesses pixels.
    public enum Access: Sendable {
        /// The frame's spans are the writer's memory. Nothing is copied.
        case mapped
        /// `pread` into a private buffer: for file systems without shared mappings, and to check the other mode. There
        /// is no early wake in this mode.
        case copied
    }

    /// The result of `read`.
    public enum Outcome: Sendable, Equatable {
        /// The closure saw a whole frame.
        case frame(FrameInfo)
        /// The latest frame is the one that was read before.
        case unchanged
        /// There is no frame yet, or none that may be shown. The frame in the closure is void.
        case noFrame
        /// The writer was faster, three times in a row. The frame in the closure is void.
        case contended
    }

    private let directory: BridgeDirectory
    private let access: Access
    private let lock: FileDescriptor
    let writerLock: FileDescriptor
    private var file: FramesFile?
    /// The not-before time: frames captured earlier must not be shown. It follows the writer with each `read`. Any
    /// thread may ask it.
    public let horizon: Horizon
    /// The latest horizon of the earlier generations.
    private var passedHorizon: Instant?
    /// The generation whose file is unusable; it is not opened again.
    private var lostGeneration: UInt64 = 0
    /// When to ask a writer again that did not answer; nil if it answered.
    private var askAt: Instant?
    private var seen: (generation: UInt64, latest: UInt64) = (0, 0)
    /// How often the writer overtook this reader.
    public private(set) var overruns = 0

    /// Attaches to a broadcast folder, whether or not there is a capture process. While the reader lives, its shared
    /// lock shows the capture process that there is a reader.
    public init(directory: BridgeDirectory, access: Access = .mapped) throws(BridgeError) {
        try self.init(directory: directory, access: access, horizon: Horizon())
    }

    /// Attaches another reader of this one's folder, with the same horizon, for another thread.
    package borrowing func another() throws(BridgeError) -> sending FrameReader {
        try FrameReader(directory: directory, access: access, horizon: horizon)
    }

    private init(directory: BridgeDirectory, access: Access, horizon: Horizon) throws(BridgeError) {
        let lock = try directory.openLock(Self.lockFile, O_RDONLY)
        let writerLock = try directory.openLock(BroadcastFolder.lockFile, O_RDONLY)
        _ = try directory.calling(on: Self.lockFile) { () throws(SystemError) in try lock.tryLock(.shared) }
        lock.touch()
        self.directory = directory
        self.access = access
        self.lock = lock
        self.writerLock = writerLock
        self.horizon = horizon
    }

    /// Shows the latest frame to `body`, unless it was read before.
    ///
    /// In mapped mode `body` may see a picture that is being overwritten. Then the call tries again, and results from
    /// that picture are void. Only the outcome `frame` makes it whole.
    ///
    /// - Throws: `noBroadcast`, `noAnswer`, `damaged`, `newerLayout`, `notPrivate` or `system`. Calling again later is
    ///   always right. Waiting for the sealed memory of a writer that does not get to run may take a quarter of a
    ///   second.
    public mutating func read(_ body: (borrowing Frame) -> Void) throws(BridgeError) -> Outcome {
        guard let file = try current() else { return .noFrame }
        let outcome = try read(file, body)
        // Only an idle reader asks the kernel: new frames come from a live writer.
        guard outcome == .unchanged || outcome == .noFrame, let successor = try replacement(of: file) else {
            return outcome
        }
        return try read(successor, body)
    }

    private mutating func read(
        _ file: FramesFile,
        _ body: (borrowing Frame) -> Void
    ) throws(BridgeError) -> Outcome {
        do throws(Malformed) {
            let (outcome, info) = try file.read(after: seenLatest(of: file), overruns: &overruns, body)
            switch outcome {
            case .noFrame: return .noFrame
            case .unchanged: return .unchanged
            case .contended: return .contended
            case .noSuchSlot: throw Malformed("latest slot")
            case .misnumbered: throw Malformed("frame number")
            case .whole(let latest):
                seen = (file.ring.header.generation, latest)
                // If a pause came meanwhile, its picture follows.
                return isHidden(info!, in: file) ? .noFrame : .frame(info!)
            }
        } catch {
            throw lose(problem: error.field)
        }
    }

    private borrowing func isHidden(_ info: FrameInfo, in file: FramesFile) -> Bool {
        // One word is cheaper than the whole horizon. If it cannot be read, the horizon decides too.
        let found = (try? file.load64(Layout.Header.horizon)) ?? .max
        let passed = passedHorizon?.nanoseconds ?? 0
        return max(found, passed) > info.capturedAt.nanoseconds && horizon.hides(info.capturedAt)
    }

    /// Makes the next `read` show the latest frame even if it was read before.
    public mutating func forget() {
        seen = (0, 0)
    }

    /// Sleeps until there is a newer frame than the last one read, or the state changes; at the longest until
    /// `deadline`. May return early, and does so after a second: a killed writer wakes nobody, and its successor cannot
    /// always.
    public borrowing func wait(until deadline: Instant) {
        guard let file else { return MonotonicClock.sleep(until: min(deadline, soon)) }
        file.wait(after: seenLatest(of: file), until: deadline)
    }

    /// The same, but only sleeps while `bell` was rung `count` times.
    package borrowing func wait(until deadline: Instant, or bell: Bell, while count: UInt32) {
        guard let file else { return bell.wait(while: count, until: min(deadline, soon)) }
        file.wait(after: seenLatest(of: file), or: (bell, count), until: deadline)
    }

    /// The longest sleep while nobody can wake this reader: there are no frames yet, or they are retired.
    static let shortWait = Duration.milliseconds(20)
    static let longestWait = Duration.seconds(1)
    private var soon: Instant { MonotonicClock.now() + Self.shortWait }

    /// The `latest` word of the frame that was read last; 0 if it was of another generation.
    private borrowing func seenLatest(of file: FramesFile) -> UInt64 {
        seen.generation == file.ring.header.generation ? seen.latest : 0
    }

    /// The state of the broadcast: its own, checked against the writer lock and the heartbeat.
    public mutating func liveness() throws(BridgeError) -> Liveness {
        let locked = try directory.calling(on: BroadcastFolder.lockFile) { () throws(SystemError) in
            try writerLock.isLockedByAnother(against: .exclusive)
        }
        guard locked else {
            // A reader that has seen frames knows that there was a writer, whatever is left in the folder.
            if file != nil, try directory.status() == nil { return .dead }
            return try directory.hasEndedWell() ? .stopped : .dead
        }
        // Frames that are retired or missing have a successor to come. Its state is in the status file alone.
        var known: FramesFile?
        do {
            known = try current()
            if let file = known { known = try replacement(of: file) ?? file }
        } catch .noAnswer {
            return .stalled(try directory.status()?.state ?? .starting)
        } catch {}
        guard let file = known, file.ring.isInPlace, let (state, heartbeat) = try? file.pulse(), let state,
            state != .retired
        else { return .live(try directory.status()?.state ?? .starting) }
        return Liveness(state: state, heartbeat: heartbeat)
    }

    /// The state in the last opened frames, and since when, by a look into memory alone; nil if only `liveness` knows.
    package borrowing func glance() -> (state: BroadcastState, since: Instant)? {
        // The writer stores the state after its instant.
        guard let state = try? file?.state, state != .retired,
            let since = (try? file?.load64(Layout.Header.stateSince)).flatMap({ Instant(stored: $0) })
        else { return nil }
        return (state, since)
    }

    /// The frames of the current generation, unless they were removed; nil if there are none, or they are unreadable.
    private mutating func current() throws(BridgeError) -> FramesFile? {
        guard let file else { return try openCurrent() }
        let state: BroadcastState?
        do { state = try file.state } catch { throw lose(problem: "shrunk") }
        guard let state else { throw lose(problem: "state") }
        return state == .retired ? try openCurrent() : file
    }

    /// The successor of frames that were removed before they could be marked as retired; nil if they are in place, or
    /// have none.
    private mutating func replacement(of file: FramesFile) throws(BridgeError) -> FramesFile? {
        guard !file.ring.isInPlace, let successor = try openCurrent(), successor !== file else { return nil }
        return successor
    }

    /// Opens the frames file that the status file names, unless it is open.
    private mutating func openCurrent() throws(BridgeError) -> FramesFile? {
        if let askAt, MonotonicClock.now() < askAt { throw .noAnswer(path: directory.path) }
        for triesLeft in (0..<3).reversed() {
            guard let generation = try directory.status()?.generation, generation != 0, generation != lostGeneration,
                generation != file?.ring.header.generation
            else { return file }
            do throws(BridgeError) {
                let found = try FramesFile(BridgeStatus.framesFile(generation), in: directory, access: access)
                passedHorizon = horizon.instant
                horizon.replaceHeader(found.ring.mapHeader())
                file = found
                // Another reader with this horizon may have come to a later generation meanwhile. The last one sets the
                // latest.
                if triesLeft > 0, try directory.status()?.generation != generation { continue }
                return file
            } catch .noBroadcast where triesLeft > 0 {
                // The next generation came between the two looks.
            } catch .noAnswer {
                askAt = MonotonicClock.now() + Self.longestWait
                throw .noAnswer(path: directory.path)
            }
        }
        return file
    }

    private mutating func lose(problem: String) -> BridgeError {
        lostGeneration = file?.ring.header.generation ?? 0
        file = nil
        return .damaged(path: directory.path(of: BridgeStatus.framesFile(lostGeneration)), problem: problem)
    }
}
