/// The identification of a stream of Opus at 48 kHz, with one frame of 20 ms in each packet.
package struct OpusHead {
    /// Samples at 48 kHz that a decoder drops at the beginning, as libopus looks ahead by 6.5 ms.
    package static let preSkip = 312
    /// A packet of 20 ms of silence in two channels (RFC 6716 §3.1, §3.2.1).
    package static let silence: [UInt8] = [0xFC, 0xFF, 0xFE]

    package let channels: Int

    package init(channels: Int) { self.channels = channels }

    /// As in Ogg (RFC 7845 §5.1), and in Matroska's `CodecPrivate`.
    package var bytes: [UInt8] {
        Array("OpusHead".utf8) + [1, UInt8(channels)] + [UInt8(Self.preSkip & 0xFF), UInt8(Self.preSkip >> 8)]
            + [0x80, 0xBB, 0, 0] + [0, 0, 0]
    }
}
