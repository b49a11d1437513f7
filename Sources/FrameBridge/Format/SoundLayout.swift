/// The layout of a file of sound. The header page is that of `Layout.Header`, except for the offsets here. Then come
/// `slotCount` slots, each with 64 bytes of metadata and the samples of a block.
enum SoundLayout {
    static let magic: UInt64 = 0x3156_534C_4549_524F  // "ORIELSV1"
    static let major: UInt16 = 1
    static let minor: UInt16 = 0
    static let slotCount = 128
    static let slotBytes = 2048
    static let mostChannels = 2
    /// Higher numbers are damage: no writer has written this many blocks.
    static let mostBlocks: UInt64 = 1 << 48

    /// Offsets in the header page. `Layout.Header.latest` holds the number of the newest block.
    enum Header {
        static let startedAt = 112
    }

    /// Offsets in a slot; bytes without a name here are 0.
    enum Slot {
        static let sequence = 0  // 2n + 1 while block n is being written, or was taken back; 2n + 2 when it is whole
        static let number = 8
        static let capturedAt = 16
        static let channels = 24
        static let flags = 26
        static let checksum = 28  // CRC-32C of bytes 8 to 27
        static let metadataBytes = 32
        static let samples = 64
    }

    /// A flag: the block continues the one before.
    static let follows: UInt16 = 1
}

extension RingFormat {
    static let sound = RingFormat(
        magic: SoundLayout.magic,
        major: SoundLayout.major,
        minor: SoundLayout.minor,
        slotCount: SoundLayout.slotCount,
        slotBytes: SoundLayout.slotBytes...SoundLayout.slotBytes,
        slotAlignment: SoundLayout.slotBytes
    )
}
