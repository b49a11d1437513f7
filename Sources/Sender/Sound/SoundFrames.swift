import FrameBridge
import Media
import Time

/// Joins blocks of 10 ms to frames of 20 ms, which are encoded one by one. Frames never overlap. Sans-IO.
struct SoundFrames {
    struct Frame: Equatable {
        let capturedAt: Instant
        let channels: Int
    }

    private struct Half {
        let capturedAt: Instant
        let channels: Int
        /// Whether it continues no other block.
        let begins: Bool
    }

    /// After a longer gap, the first half of a frame is dropped.
    private static let longestGap = Duration.milliseconds(100)

    /// The samples of the last returned frame.
    private(set) var samples: [Int16] = []
    /// The first half of the next frame, and its samples.
    private var half: Half?
    private var halfSamples: [Int16] = []
    /// The beginning of the next block if it continues the last one; nil after an interruption.
    private var next: Instant?
    /// The end of the last frame, before which no frame begins.
    private var floor = Instant.start

    init() {
        let size = SoundBlock.samples * 2 * 2
        samples.reserveCapacity(size)
        halfSamples.reserveCapacity(size)
    }

    /// Takes the next block. If it does not continue the one before, a waiting half is completed with silence. If it
    /// has another number of channels, it gets those of the half.
    ///
    /// - Returns: a complete frame; its samples stand in `samples`.
    mutating func take(_ block: SoundBlock, _ samples: Span<Int16>) -> Frame? {
        var frame: Frame?
        if let half {
            if block.follows, next != nil {
                append(samples, of: block.channels, as: half.channels)
                return complete(half)
            }
            let gap = block.capturedAt - (half.capturedAt + SoundBlock.duration)
            if gap < Self.longestGap {
                halfSamples.append(contentsOf: repeatElement(0, count: SoundBlock.samples * half.channels))
                frame = complete(half)
            }
        }
        let continued = block.follows ? next : nil
        begin(at: continued ?? block.capturedAt, begins: continued == nil, block, samples)
        return frame
    }

    /// Whether a frame waits for its second block, and its first continues no other block.
    var hasBegun: Bool { half?.begins ?? false }

    /// Completes the frame of a block that continues no other block, with silence before it. So the beginning of a
    /// sound waits for nothing. If blocks come in pairs, each pair makes a frame from then on.
    mutating func takeBeginning() -> Frame? {
        guard let half, half.begins, half.capturedAt >= floor + SoundBlock.duration else { return nil }
        let silence = repeatElement(Int16(0), count: SoundBlock.samples * half.channels)
        halfSamples.insert(contentsOf: silence, at: 0)
        return complete(
            Half(capturedAt: half.capturedAt - SoundBlock.duration, channels: half.channels, begins: true)
        )
    }

    /// Drops the waiting half. The next block continues nothing.
    ///
    /// - Parameter instant: no frame begins before it; nil for no limit.
    mutating func interrupt(until instant: Instant? = nil) {
        (half, next) = (nil, nil)
        halfSamples.removeAll(keepingCapacity: true)
        if let instant { floor = max(floor, instant) }
    }

    /// Reserves the time of a frame for a packet without samples. Returns when that begins.
    ///
    /// - Parameter instant: the wished beginning.
    mutating func reserve(at instant: Instant) -> Instant {
        interrupt()
        let start = max(instant, floor)
        floor = start + EncodedSound.duration
        return start
    }

    private mutating func begin(at instant: Instant, begins: Bool, _ block: SoundBlock, _ samples: Span<Int16>) {
        interrupt()
        let start = max(instant, floor)
        half = Half(capturedAt: start, channels: block.channels, begins: begins)
        next = start + SoundBlock.duration
        append(samples, of: block.channels, as: block.channels)
    }

    private mutating func complete(_ half: Half) -> Frame {
        swap(&samples, &halfSamples)
        floor = half.capturedAt + EncodedSound.duration
        let end = floor
        interrupt()
        next = end
        return Frame(capturedAt: half.capturedAt, channels: half.channels)
    }

    private mutating func append(_ samples: Span<Int16>, of channels: Int, as wanted: Int) {
        switch (channels, wanted) {
        case (1, 2):
            for index in samples.indices {
                halfSamples.append(samples[index])
                halfSamples.append(samples[index])
            }
        case (2, 1):
            for index in 0..<samples.count / 2 {
                halfSamples.append(Int16((Int32(samples[2 * index]) + Int32(samples[2 * index + 1])) / 2))
            }
        default: for index in samples.indices { halfSamples.append(samples[index]) }
        }
    }
}
