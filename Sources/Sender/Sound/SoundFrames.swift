import FrameBridge
import Media
import Time

/// Puts blocks of 10 ms together to frames of 20 ms, which are encoded each by itself. Frames never overlap. Sans-IO.
struct SoundFrames {
    struct Frame: Equatable {
        let capturedAt: Instant
        let channels: Int
    }

    private struct Half {
        let capturedAt: Instant
        let channels: Int
        /// Whether it continues nothing.
        let begins: Bool
    }

    /// The first half of a frame is not kept for what comes later than this.
    private static let longestGap = Duration.milliseconds(100)

    /// Of the frame that was given last.
    private(set) var samples: [Int16] = []
    /// The first half of the next frame, and its samples.
    private var half: Half?
    private var halfSamples: [Int16] = []
    /// Where the next block begins if it continues the last one; nil after an interruption.
    private var next: Instant?
    /// No frame begins before it, as the one before ends there.
    private var floor = Instant.start

    init() {
        let size = SoundBlock.samples * 2 * 2
        samples.reserveCapacity(size)
        halfSamples.reserveCapacity(size)
    }

    /// Takes the next block. Where it does not continue the one before, a half that waits is filled up with silence; where it has
    /// another number of channels, it gets those of the half.
    ///
    /// - Returns: a frame that is complete; its samples stand in `samples`.
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

    /// Whether a frame waits for its second block that has begun with one that continues nothing.
    var hasBegun: Bool { half?.begins ?? false }

    /// Completes the frame of a block that continues nothing, with silence before it: so the beginning of a sound waits for nothing,
    /// and of blocks that come two at a time each two make a frame from then on.
    mutating func takeBeginning() -> Frame? {
        guard let half, half.begins, half.capturedAt >= floor + SoundBlock.duration else { return nil }
        let silence = repeatElement(Int16(0), count: SoundBlock.samples * half.channels)
        halfSamples.insert(contentsOf: silence, at: 0)
        return complete(
            Half(capturedAt: half.capturedAt - SoundBlock.duration, channels: half.channels, begins: true)
        )
    }

    /// What comes next does not continue what was there, of which nothing is kept.
    ///
    /// - Parameter instant: no frame begins before it; nil for any.
    mutating func interrupt(until instant: Instant? = nil) {
        (half, next) = (nil, nil)
        halfSamples.removeAll(keepingCapacity: true)
        if let instant { floor = max(floor, instant) }
    }

    /// Takes the place of a frame for what is sent without samples. Returns when that begins.
    ///
    /// - Parameter instant: when it should.
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
