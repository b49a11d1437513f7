import FrameBridge
import Posix
import Time

/// Blocks of sound of which every sample, and what else is told of them, follows from the instant of their capture: a torn one
/// cannot pass.
enum SoundPattern {
    static func channels(at instant: Instant) -> Int { 1 + Int(instant.nanoseconds % 2) }

    static func follows(at instant: Instant) -> Bool { instant.nanoseconds % 3 != 0 }

    static func fill(_ samples: inout [Int16], at instant: Instant) {
        let first = first(instant)
        samples.withUnsafeMutableBufferPointer { samples in
            for index in samples.indices { samples[index] = first &+ Int16(truncatingIfNeeded: index) }
        }
    }

    /// Whether these are the samples of a block.
    static func holds(_ samples: Span<Int16>, _ block: SoundBlock) -> Bool {
        guard samples.count == SoundBlock.samples * block.channels,
            block.channels == channels(at: block.capturedAt)
        else { return false }
        let first = first(block.capturedAt)
        return samples.indices.allSatisfy { samples[$0] == first &+ Int16(truncatingIfNeeded: $0) }
    }

    private static func first(_ instant: Instant) -> Int16 {
        Int16(truncatingIfNeeded: instant.nanoseconds &* 0x9E37_79B9_7F4A_7C15 >> 40)
    }
}
