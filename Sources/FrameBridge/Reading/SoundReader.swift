package import Posix
public import Time

/// A reading end of a broadcast's sound, or of the peers' voices from one sender. Any number of readers may be
/// attached, in any process. Each is used by one thread.
///
/// It reads every block in order while it is at most 126 blocks behind. A slower reader learns how many it has lost. It
/// follows the writer from generation to generation by itself, also over the death and restart of the sound process.
public struct SoundReader: ~Copyable {
    /// The result of `read`.
    public enum Outcome: Sendable, Equatable {
        /// The closure got this block.
        case block(SoundBlock)
        /// This many blocks are lost for this reader. The next block may be there already.
        case lost(UInt64)
        /// There is no further block yet.
        case none
    }

    private static let lookInterval = Duration.milliseconds(100)

    private let directory: BridgeDirectory
    private let ring: String
    private var file: SoundFile?
    /// The generation that has replaced `file`, which is read to its end first.
    private var successor: SoundFile?
    /// The number of the next block; nil before the first look, for the newest.
    private var next: UInt64?
    /// The number of the last block of this generation that `read` gave; 0 for none.
    private var given: UInt64 = 0
    /// The generation whose file is unusable; it is not opened again.
    private var lostGeneration: UInt64 = 0
    /// When to look at the last opened file again.
    private var lookAt = Instant.start
    /// When to ask a writer again that did not answer; nil if it answered.
    private var askAt: Instant?
    /// The not-before time: sound captured earlier must not be heard. It follows the writer with each `read`. Any
    /// thread may ask it.
    public let horizon: Horizon

    /// Attaches to a broadcast folder, whether or not there is a sound process.
    public init(directory: BridgeDirectory) { self.init(SoundWriter.soundRing, in: directory, Horizon()) }

    /// Attaches to the voices of a sender's peers, if there are any.
    package init(talkOf sender: ProcessFolder) { self.init(SoundWriter.talkRing, in: sender.directory, Horizon()) }

    /// Attaches another reader of this one's ring, with the same horizon, for another thread.
    package borrowing func another() -> sending SoundReader { SoundReader(ring, in: directory, horizon) }

    /// Whether a broadcast has sound, or soon will: there is a ring.
    package static func findsRing(in directory: BridgeDirectory) -> Bool {
        let found = try? SoundFile.newest(of: SoundWriter.soundRing, in: directory, but: [])
        return (found ?? nil) != nil
    }

    private init(_ ring: String, in directory: BridgeDirectory, _ horizon: Horizon) {
        self.ring = ring
        self.directory = directory
        self.horizon = horizon
    }

    /// Gives the next block to `body` once it is known to be whole. The first call gives the newest block. It may be
    /// old, as nothing is written in silence.
    ///
    /// - Throws: `damaged`, `newerLayout`, `notPrivate`, `noAnswer` or `system`. Calling again later is always right.
    ///   Waiting for the sealed memory of a writer that does not get to run may take a quarter of a second.
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

    /// Continues at the first block of another generation.
    private mutating func proceed(to file: SoundFile?) {
        (self.file, successor) = (file, nil)
        (next, given) = (1, 0)
    }

    /// Opens a ring if none is open, and its successor once the writer has ended it or the file was removed.
    ///
    /// The horizon is then that of the successor: blocks left in the file may have been hidden since.
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
        horizon.replaceHeader(found.ring.mapHeader())
        if file == nil { file = found } else { successor = found }
    }

    /// The kernel is asked only now and then: a writer marks a file that it replaces, except for the sealed memory of a
    /// killed writer.
    private mutating func isInPlace(_ file: SoundFile) -> Bool {
        let now = MonotonicClock.now()
        if now < lookAt { return true }
        guard file.ring.isInPlace else { return false }
        lookAt = now + Self.lookInterval
        return true
    }

    private mutating func read(
        _ file: SoundFile,
        _ body: (SoundBlock, Span<Int16>) -> Void
    ) throws(BridgeError) -> Outcome {
        // Hidden blocks are skipped, a lap at the most.
        for _ in 0..<SoundLayout.slotCount {
            do throws(Malformed) {
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
                case .wrongHead: throw Malformed("newest block")
                case .wrongSequence: throw Malformed("sequence of a slot")
                }
            } catch {
                throw lose(file, problem: error.field)
            }
        }
        return .none
    }

    private mutating func lose(_ file: SoundFile, problem: String) -> BridgeError {
        lostGeneration = file.generation
        proceed(to: successor === file ? nil : successor)
        return .damaged(path: directory.path(of: RingFile.name(of: ring, lostGeneration)), problem: problem)
    }

    /// Sleeps until there is a block after the last one read, or the writer ends the generation; at the longest until
    /// `deadline`. May return early, and does so after a second: a killed writer wakes nobody.
    public borrowing func wait(until deadline: Instant) {
        guard let file else { return MonotonicClock.sleep(until: min(deadline, soon)) }
        file.wait(after: seen, or: nil, until: deadline)
    }

    /// The same, but only sleeps while `bell` was rung `count` times.
    package borrowing func wait(until deadline: Instant, or bell: Bell, while count: UInt32) {
        guard let file else { return bell.wait(while: count, until: min(deadline, soon)) }
        file.wait(after: seen, or: (bell, count), until: deadline)
    }

    /// The word to sleep on, together with others; nil if there may be something to read. Empty if there is no ring.
    var words: [WakeWord]? {
        guard let file else { return [] }
        return file.word(after: seen).map { [$0] }
    }

    private var soon: Instant { MonotonicClock.now() + FrameReader.longestWait }
    private var seen: UInt64 { (next ?? 1) - 1 }
}
