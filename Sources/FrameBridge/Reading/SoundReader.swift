package import Posix
public import Time

/// A reading end of a broadcast's sound, or of what the peers of one sender say. Any number of them may be attached, in any
/// process; each is used by one thread.
///
/// It gets every block, in order, as long as it is no more than 126 of them behind; a reader that is learns how many it has lost.
/// It follows the writer from generation to generation by itself, also over the death and restart of the sound process.
public struct SoundReader: ~Copyable {
    /// What a call of `read` found.
    public enum Outcome: Sendable, Equatable {
        /// The closure got this block.
        case block(SoundBlock)
        /// So many blocks are gone that this reader did not get. There may be a block at once.
        case lost(UInt64)
        /// There is no further block yet.
        case none
    }

    /// Between two looks after the file.
    private static let lookInterval = Duration.milliseconds(100)

    private let directory: BridgeDirectory
    private let ring: String
    private var file: SoundFile?
    /// The generation that has taken the place of `file`, which is read to its end first.
    private var successor: SoundFile?
    /// The number of the next block; nil for the newest, until the first look.
    private var next: UInt64?
    /// The number of the block that was given out last in this generation; 0 for none.
    private var given: UInt64 = 0
    /// The generation whose file turned out to be unusable: not opened again.
    private var lostGeneration: UInt64 = 0
    /// When it is looked after the file that was opened last.
    private var lookAt = Instant.start
    /// When a writer that did not answer is asked again; nil if it did answer.
    private var askAt: Instant?
    /// What was captured before it is not to be heard any more; follows the writer with each `read`, and may be asked by any
    /// thread.
    public let horizon: Horizon

    /// Attaches to a broadcast folder, whether or not a sound process is there.
    public init(directory: BridgeDirectory) { self.init(SoundWriter.soundRing, in: directory, Horizon()) }

    /// Attaches to what the peers of a sender say, if any does.
    package init(talkOf sender: SenderFolder) { self.init(SoundWriter.talkRing, in: sender.directory, Horizon()) }

    /// Attaches another reader of this one's ring, with the same horizon, for another thread.
    package borrowing func another() -> sending SoundReader { SoundReader(ring, in: directory, horizon) }

    /// Whether a broadcast has sound, or is about to: a ring is there.
    package static func findsRing(in directory: BridgeDirectory) -> Bool {
        let found = try? SoundFile.newest(of: SoundWriter.soundRing, in: directory, but: [])
        return (found ?? nil) != nil
    }

    private init(_ ring: String, in directory: BridgeDirectory, _ horizon: Horizon) {
        self.ring = ring
        self.directory = directory
        self.horizon = horizon
    }

    /// Gives the next block to `body`, once it is known to be whole. The first call gives the newest one that there is; that
    /// may be old, as nothing is written while there is nothing to hear.
    ///
    /// - Throws: `damaged`, `newerLayout`, `notPrivate`, `noAnswer` or `system`; calling again later is always right. To wait for
    ///   sealed memory, of a writer that does not get to run, may take a quarter of a second.
    public mutating func read(_ body: (SoundBlock, Span<Int16>) -> Void) throws(BridgeError) -> Outcome {
        try openNewest()
        guard let file else {
            next = 1
            return .none
        }
        let outcome = try read(file, body)
        guard outcome == .none, let successor else { return outcome }
        proceed(to: successor)
        return try read(successor, body)
    }

    /// Goes on at the first block of another generation.
    private mutating func proceed(to file: SoundFile?) {
        (self.file, successor) = (file, nil)
        (next, given) = (1, 0)
    }

    /// Opens a ring if none is open; and its successor, as soon as the writer has ended it, or somebody has removed it.
    ///
    /// The horizon is that of the successor from then on: what is left in the file may have been hidden since.
    private mutating func openNewest() throws(BridgeError) {
        if let present = successor ?? file, !present.isRetired, isInPlace(present) { return }
        if let askAt, MonotonicClock.now() < askAt { throw .noAnswer(path: directory.path) }
        let known = [file?.generation, successor?.generation, lostGeneration].compactMap { $0 }
        let found: SoundFile?
        do throws(BridgeError) {
            found = try SoundFile.newest(of: ring, in: directory, but: known)
            askAt = nil
        } catch {
            if case .noAnswer = error { askAt = MonotonicClock.now() + FrameReader.longestWait }
            throw error
        }
        guard let found else { return }
        horizon.replaceHeader(found.mapHeader())
        if file == nil { file = found } else { successor = found }
    }

    /// The kernel is asked only now and then: a writer marks what it replaces, but for the sealed memory of one that was killed.
    private mutating func isInPlace(_ file: SoundFile) -> Bool {
        let now = MonotonicClock.now()
        if now < lookAt { return true }
        guard file.isInPlace else { return false }
        lookAt = now + Self.lookInterval
        return true
    }

    private mutating func read(
        _ file: SoundFile,
        _ body: (SoundBlock, Span<Int16>) -> Void
    ) throws(BridgeError) -> Outcome {
        // What is hidden is passed over, a lap at the most.
        for _ in 0..<SoundLayout.slotCount {
            do throws(SoundFile.Failure) {
                let isEnded = file.isRetired
                let (outcome, block) = try file.read(next)
                switch outcome {
                case .none:
                    if next == nil { next = 1 }
                    if isEnded, successor == nil { proceed(to: nil) }
                    return .none
                case .erased(let number): next = number + 1
                case .overwritten(let number):
                    guard let expected = next else { continue }
                    next = number
                    return .lost(number - expected)
                case .whole(let number):
                    next = number + 1
                    guard var block, !horizon.hides(block.capturedAt) else { continue }
                    block.follows = block.follows && given > 0 && given == number - 1
                    given = number
                    file.withSamples(block.channels) { body(block, $0) }
                    return .block(block)
                case .wrongHead: throw .malformed(Malformed("newest block"))
                case .wrongSequence: throw .malformed(Malformed("sequence of a slot"))
                }
            } catch {
                switch error {
                case .malformed(let malformed): throw lose(file, problem: malformed.field)
                case .lost: throw lose(file, problem: "shrunk while it was read")
                }
            }
        }
        return .none
    }

    private mutating func lose(_ file: SoundFile, problem: String) -> BridgeError {
        lostGeneration = file.generation
        proceed(to: successor === file ? nil : successor)
        return .damaged(path: directory.path(of: RingFile.name(of: ring, lostGeneration)), problem: problem)
    }

    /// Sleeps until a block after the last one read is there or the writer ends the generation, at the longest until
    /// `deadline`. May return early, and does so after a second: a writer that was killed wakes nobody.
    public borrowing func wait(until deadline: Instant) {
        guard let file else { return MonotonicClock.sleep(until: min(deadline, soon)) }
        file.wait(after: seen, or: nil, until: deadline)
    }

    /// Sleeps likewise, and only while `bell` was rung `count` times.
    package borrowing func wait(until deadline: Instant, or bell: Bell, while count: UInt32) {
        guard let file else { return bell.wait(while: count, until: min(deadline, soon)) }
        file.wait(after: seen, or: (bell, count), until: deadline)
    }

    /// The word to sleep on besides others: nil when there may be something to read. Empty while there is no ring.
    var words: [WakeWord]? {
        guard let file else { return [] }
        return file.word(after: seen).map { [$0] }
    }

    private var soon: Instant { MonotonicClock.now() + FrameReader.longestWait }
    private var seen: UInt64 { (next ?? 1) - 1 }
}
