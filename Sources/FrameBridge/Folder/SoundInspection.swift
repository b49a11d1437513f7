import Posix
public import Time

/// A look at the sound of a broadcast from outside. It takes no lock and changes nothing.
public struct SoundInspection: Sendable {
    /// Whether a sound process lives, checked against its lock and its heartbeat.
    public private(set) var liveness: Liveness
    /// All generations with a file in the folder: one, except for an instant.
    public let generations: [String]
    /// The fault of the sound; nil if there is none.
    public private(set) var problem: BridgeError?
    /// The fields below are nil or zero if there is no readable sound.
    public private(set) var generation: UInt64?
    /// The size of the file.
    public private(set) var fileBytes = 0
    /// Blocks of this generation so far.
    public private(set) var written: UInt64 = 0
    /// The newest block; nil if there is none, or it must not be heard any more.
    public private(set) var newest: SoundBlock?
    /// When the generation began.
    public private(set) var startedAt: Instant?
    /// The last heartbeat.
    public private(set) var heartbeatAt: Instant?
    /// The not-before time: sound captured earlier must not be heard.
    public private(set) var horizon: Instant?

    /// Looks at a folder.
    ///
    /// - Throws: `notPrivate` or `system` if the lock cannot be read.
    public init(_ directory: BridgeDirectory) throws(BridgeError) {
        let isWriting = try directory.hasSoundWriter()
        generations = directory.fileNames().filter {
            RingFile.generation(of: $0, in: SoundWriter.soundRing) != nil
        }.sorted()
        liveness = isWriting ? .live(.active) : generations.isEmpty ? .stopped : .dead
        do throws(BridgeError) {
            guard let file = try SoundFile.newest(of: SoundWriter.soundRing, in: directory, but: []) else { return }
            lookInto(file, isWriting: isWriting)
        } catch {
            problem = error
            if case .noAnswer = error, isWriting { liveness = .stalled(.active) }
        }
    }

    private mutating func lookInto(_ file: SoundFile, isWriting: Bool) {
        generation = file.generation
        fileBytes = file.ring.header.fileBytes
        startedAt = Instant(stored: file.startedAt)
        heartbeatAt = file.heartbeat
        if isWriting { liveness = Liveness(state: .active, heartbeat: heartbeatAt) }
        horizon = file.horizon
        written = file.head
        guard let block = try? file.read(nil).block, horizon.map({ $0 <= block.capturedAt }) ?? true else { return }
        newest = block
    }
}

extension BridgeDirectory {
    /// Whether a sound process lives, by its lock. The kernel frees the lock with the process.
    public func hasSoundWriter() throws(BridgeError) -> Bool { try isLocked(SoundWriter.lockFile) }

    /// The processes that hold the lock of the sound: one at most, as for `writers`.
    public func soundWriters() -> [LockHolder] { holders(of: SoundWriter.lockFile) }
}
