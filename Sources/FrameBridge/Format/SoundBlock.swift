public import Time

/// The metadata of one block of sound. All blocks are 10 ms long, at 48 kHz.
public struct SoundBlock: Sendable, Equatable {
    /// Samples a second, in each channel.
    public static let sampleRate = 48_000
    /// Samples of a block, in each channel.
    public static let samples = 480
    /// The duration of a block.
    public static let duration = Duration.milliseconds(10)

    /// The number of the file: it changes after a restart of the sound process, and after the loss of a file.
    public internal(set) var generation: UInt64 = 0
    /// Counts the blocks of a generation, from 1 and without gaps.
    public internal(set) var number: UInt64
    /// When its first sample was heard. Consecutive blocks are exactly `duration` apart.
    public let capturedAt: Instant
    /// 1 or 2. Samples of two channels are interleaved, left before right.
    public let channels: Int
    /// Whether it continues the block that was written before it or, for a reader, the block that this reader read
    /// before it.
    public internal(set) var follows: Bool

    /// Writes the first 32 bytes of a slot, with 0 for the sequence number.
    func encode(into bytes: UnsafeMutableRawBufferPointer) {
        typealias S = SoundLayout.Slot
        bytes.initializeMemory(as: UInt8.self, repeating: 0)
        bytes.put(number, S.number)
        bytes.put(capturedAt.nanoseconds, S.capturedAt)
        bytes.put(UInt16(channels), S.channels)
        bytes.put(follows ? SoundLayout.follows : 0, S.flags)
        let sum = CRC32C.checksum(UnsafeRawBufferPointer(rebasing: bytes[S.number..<S.checksum]).bytes)
        bytes.put(sum, S.checksum)
    }
}

extension SoundBlock {
    /// Reads and checks a private copy of the first 32 bytes of a slot.
    ///
    /// - Parameter number: the block's number according to the slot's sequence.
    /// - Throws: the name of the first invalid field.
    init(checking copy: RawSpan, generation: UInt64, number: UInt64) throws(Malformed) {
        typealias S = SoundLayout.Slot
        let sum = CRC32C.checksum(copy.extracting(S.number..<S.checksum))
        guard copy.get(S.checksum, as: UInt32.self) == sum else { throw Malformed("slot checksum") }
        guard copy.get(S.number, as: UInt64.self) == number else { throw Malformed("block number") }
        let channels = Int(copy.get(S.channels, as: UInt16.self))
        guard 1...SoundLayout.mostChannels ~= channels else { throw Malformed("channels") }
        self.init(
            generation: generation,
            number: number,
            capturedAt: Instant(nanoseconds: copy.get(S.capturedAt, as: UInt64.self)),
            channels: channels,
            follows: copy.get(S.flags, as: UInt16.self) & SoundLayout.follows != 0
        )
    }
}
