import FrameBridge
import Glibc
import Posix
import Time

/// Reads sound and checks every block that it gets, and prints what it found in the end.
///
/// - Parameter options: ends after `blocks`, after `seconds`, or when it has got or knows as lost `total` blocks of a generation.
///   `sleep=1` waits for each block instead of looking all the time. `hides=1` expects that blocks are hidden. `lag=N` sleeps so
///   many milliseconds after each block. `stops=1` stops this process before it looks for blocks; `idle=N` ends when nothing has
///   come for so many milliseconds. `verbose=1` tells of every block.
func listen(to directory: BridgeDirectory, _ options: Options) throws {
    var peer = ListeningPeer(directory, options)
    let (end, blocks, total) = (options.end, options["blocks", default: .max], options["total", default: .max])
    // From now on it misses nothing.
    _ = try peer.hears()
    say("ready=1")
    if options["stops"] != nil { raise(SIGSTOP) }
    let idle = Duration.milliseconds(Int64(clamping: options["idle", default: .max / 2_000_000]))
    var lastAt = now()
    while peer.blocks < blocks, peer.accounted < total, now() < end, now() < lastAt + idle {
        if try peer.hears() {
            lastAt = now()
        } else if options["sleep"] != nil {
            peer.wait(until: end)
        }
    }
    say(peer.summary)
}

private struct ListeningPeer: ~Copyable {
    private let isVerbose: Bool
    private let expectsGaps: Bool
    private let lag: UInt64
    private var reader: SoundReader
    private(set) var blocks: UInt64 = 0
    private var lost: UInt64 = 0
    private var damages = 0
    private var generations: Set<UInt64> = []
    private var last: SoundBlock?
    /// What was lost after the last block.
    private var gap: UInt64 = 0

    init(_ directory: BridgeDirectory, _ options: Options) {
        isVerbose = options["verbose"] != nil
        expectsGaps = options["hides"] != nil
        lag = options["lag", default: 0]
        reader = SoundReader(directory: directory)
    }

    /// How many blocks of the present generation it got, or knows as lost.
    var accounted: UInt64 { (last?.number ?? 0) + gap }

    var summary: String {
        "blocks=\(blocks) lost=\(lost) last=\(last?.number ?? 0) captured=\(last?.capturedAt.nanoseconds ?? 0) "
            + "generations=\(generations.count) damages=\(damages)"
    }

    func wait(until deadline: Instant) { reader.wait(until: deadline) }

    /// Returns whether there was a block, or may be one at once.
    mutating func hears() throws -> Bool {
        var isWhole = false
        do throws(BridgeError) {
            switch try reader.read({ isWhole = SoundPattern.holds($1, $0) }) {
            case .block(let block): note(block, isWhole)
            case .lost(let count):
                (lost, gap) = (lost + count, gap + count)
                if isVerbose { say("gone=\(count)") }
            case .none: return false
            }
        } catch {
            switch error {
            case .damaged(_, let problem):
                damages += 1
                if isVerbose { say("damage=\(problem)") }
            case .noAnswer: return false
            default: throw error
            }
        }
        return true
    }

    private mutating func note(_ block: SoundBlock, _ isWhole: Bool) {
        let isNew = generations.insert(block.generation).inserted
        let expected = (isNew ? 0 : last?.number ?? 0) + gap + 1
        let isOrdered =
            if isNew {
                // The first block of all is the newest; what was lost may be of the generation before.
                last == nil || expectsGaps || block.number <= expected
            } else {
                block.number == expected || expectsGaps && block.number > expected
            }
        let isAfterLast = !isNew && gap == 0 && block.number == (last?.number ?? 0) + 1
        let follows = isAfterLast && SoundPattern.follows(at: block.capturedAt)
        let isLater = last.map { $0.capturedAt < block.capturedAt } ?? true
        guard isWhole, isOrdered, isLater, block.follows == follows else {
            say("torn=\(block.number) whole=\(isWhole) ordered=\(isOrdered) later=\(isLater) follows=\(block.follows)")
            exit(1)
        }
        blocks += 1
        (last, gap) = (block, 0)
        if isVerbose { say("block=\(block.number) heard=\(block.capturedAt.nanoseconds)") }
        if lag > 0 { MonotonicClock.sleep(for: .milliseconds(Int(lag))) }
    }
}

/// Reads what the peers of all senders say, and tells of each sender's first block and damage, until it is killed or after
/// `seconds`.
func overhear(_ directory: BridgeDirectory, _ options: Options) throws {
    let (bell, end) = (Bell(), options.end)
    var talks = TalkReaders(in: directory)
    var (heard, counts): (Set<Int32>, [Int32: UInt64]) = ([], [:])
    say("ready=1")
    while now() < end {
        talks.look()
        for sender in heard.subtracting(talks.senders) {
            heard.remove(sender)
            say("ended=\(sender)")
        }
        for sender in talks.senders {
            var isWhole = true
            do throws(BridgeError) {
                while case .block = try talks.read(of: sender, { isWhole = SoundPattern.holds($1, $0) }) {
                    guard isWhole else { throw .damaged(path: "", problem: "torn") }
                    counts[sender, default: 0] += 1
                    if heard.insert(sender).inserted { say("heard=\(sender)") }
                    if counts[sender]!.isMultiple(of: 10) { say("talk\(sender)=\(counts[sender]!)") }
                }
            } catch {
                say("damage=\(sender)")
            }
        }
        talks.wait(until: min(end, now() + .milliseconds(200)), or: bell, while: bell.count)
    }
}
