import FrameBridge
import Time

/// Mixes the samples of several streams into blocks. Sans-IO.
struct BlockMixer {
    /// The metadata of a block. The mixer has its samples.
    struct Block: Equatable {
        let channels: Int
        let capturedAt: Instant
        /// Whether it continues the block before.
        let follows: Bool
    }

    /// How long a block waits for a stream without its part: at least, and at most for a stream that is often late.
    static let patience = Duration.milliseconds(60)
    static let mostPatience = Duration.milliseconds(250)
    /// For how long a late part counts at least.
    private static let memory = Duration.seconds(10)
    /// After this many silent blocks, no block is made until there is sound again.
    static let tail = 30

    /// How long before its beginning a block may be taken: a monitor hears sound before it is played. Twice a block, so
    /// that both blocks of a piece are taken at once if the monitor is up to 10 ms ahead.
    static let mostAhead = SoundBlock.duration * 2

    private struct Entry {
        let id: Int
        var stream: CapturedStream
        /// Whether its last part did not come in time. Then no block waits for it until a part comes.
        var isMissing = true
    }

    private var entries: [Entry] = []
    /// The longest waits for parts that came: in the present stretch of `memory`, and in the one before.
    private var waits = (now: Duration.zero, before: Duration.zero, until: Instant.start)
    /// The number of the next block since the start of the clock; nil before the first.
    private var next: Int64?
    private var hasLast = false
    private var silentBlocks = 0
    private var sums: [Int32] = []
    /// The samples of the last block taken, interleaved.
    private(set) var samples: [Int16] = []

    /// Adds a stream.
    ///
    /// - Parameters:
    ///   - id: its number, which no other stream has.
    ///   - start: sound captured earlier is left out.
    mutating func add(_ id: Int, channels: Int, from start: Instant) {
        entries.append(Entry(id: id, stream: CapturedStream(channels: channels, from: start)))
        // Its lateness is not known yet.
        waits.now = Self.mostPatience
    }

    /// Removes a stream. Samples that are not in a block are dropped.
    mutating func remove(_ id: Int) { entries.removeAll { $0.id == id } }

    /// The numbers of all streams.
    var ids: [Int] { entries.map(\.id) }

    /// A stream by its number.
    subscript(id: Int) -> CapturedStream? {
        entries.first { $0.id == id }?.stream
    }

    mutating func withStream<Result>(
        _ id: Int,
        at now: Instant,
        _ body: (inout CapturedStream) -> Result
    ) -> Result? {
        guard let index = entries.firstIndex(where: { $0.id == id }) else { return nil }
        let end = entries[index].stream.end
        defer { if entries[index].stream.end != end { noteNews(index, since: end, at: now) } }
        return body(&entries[index].stream)
    }

    /// Records a new part of a stream. If no block waited for the stream, blocks wait for it again, unless the part is
    /// too late.
    ///
    /// - Parameter end: the end of its samples before.
    private mutating func noteNews(_ index: Int, since end: Int64?, at now: Instant) {
        if now >= waits.until { waits = (.zero, waits.now, now + Self.memory) }
        let wait = end.map { now - Instant(place: $0) + SoundBlock.duration } ?? .zero
        if wait <= Self.mostPatience { waits.now = max(waits.now, wait) }
        guard let end = entries[index].stream.end else { return }
        if now - Instant(place: end) + SoundBlock.duration <= patience { entries[index].isMissing = false }
    }

    /// How long a block waits at present: some microphones are later than others.
    private var patience: Duration { max(Self.patience, waits.now, waits.before) }

    /// Whether there has been no sound for a while.
    var isSilent: Bool { silentBlocks > Self.tail }

    /// When the next block may be taken if it is complete; nil if there is none, or only silence.
    func deadline(at now: Instant) -> Instant? {
        guard let place = firstPlace, !isSilent || entries.contains(where: { $0.stream.loudUntil > place }) else {
            return nil
        }
        let number = place / Int64(SoundBlock.samples)
        let due = Instant(block: number) - Self.mostAhead
        guard due > now, entries.contains(where: { $0.stream.has(block: number) }) else { return nil }
        return due
    }

    /// The place of the first sample.
    private var firstPlace: Int64? {
        var first = Int64.max
        for entry in entries where entry.stream.hasSamples { first = min(first, entry.stream.place ?? .max) }
        return first < .max ? max(first, (next ?? 0) * Int64(SoundBlock.samples)) : nil
    }

    /// The next block that is ready, with its samples in `samples`; nil if none is.
    mutating func takeBlock(at now: Instant) -> Block? {
        while let number = nextNumber(at: now) {
            let follows = hasLast && next == number
            next = number + 1
            var channels = 1
            for entry in entries { channels = max(channels, entry.stream.channels) }
            mix(number, channels)
            silentBlocks = samples.contains { $0 != 0 } ? 0 : min(silentBlocks + 1, Self.tail + 1)
            hasLast = !isSilent
            if hasLast { return Block(channels: channels, capturedAt: Instant(block: number), follows: follows) }
        }
        return nil
    }

    /// The number of the next block if it is complete, or has waited long enough.
    private mutating func nextNumber(at now: Instant) -> Int64? {
        // After a gap in all streams, the next block is the one behind it.
        guard let number = firstPlace.map({ $0 / Int64(SoundBlock.samples) }),
            Instant(block: number) <= now + Self.mostAhead
        else { return nil }
        let isLate = Instant(block: number + 1) + patience <= now
        var isThere = false
        for index in entries.indices {
            if entries[index].stream.has(block: number) {
                entries[index].isMissing = false
                isThere = true
            } else if isLate {
                entries[index].isMissing = true
            } else if !entries[index].isMissing {
                return nil
            }
        }
        return isThere || isLate ? number : nil
    }

    /// Adds up the streams' parts of a block.
    private mutating func mix(_ number: Int64, _ channels: Int) {
        var (samples, sums) = (self.samples, self.sums)
        (self.samples, self.sums) = ([], [])
        defer { (self.samples, self.sums) = (samples, sums) }
        let place = number * Int64(SoundBlock.samples)
        samples.removeAll(keepingCapacity: true)
        samples += repeatElement(0, count: SoundBlock.samples * channels)
        if entries.count == 1 {
            entries[0].stream.takeBlock(at: place) { part, offset in
                let start = offset * channels
                samples.replaceSubrange(start..<start + part.count, with: part)
            }
            return
        }
        sums.removeAll(keepingCapacity: true)
        sums += repeatElement(0, count: samples.count)
        for index in entries.indices {
            let own = entries[index].stream.channels
            entries[index].stream.takeBlock(at: place) { part, offset in
                if own == channels {
                    for (index, sample) in zip((offset * channels)..., part) { sums[index] += Int32(sample) }
                } else {
                    // A single channel goes to both sides.
                    for (index, sample) in zip(offset..., part) {
                        sums[index * 2] += Int32(sample)
                        sums[index * 2 + 1] += Int32(sample)
                    }
                }
            }
        }
        for index in samples.indices { samples[index] = Int16(clamping: sums[index]) }
    }
}
