/// Properties of a packet of Opus in its first bytes (RFC 6716 §3.1, §3.2).
package enum OpusPacket {
    /// Samples of the longest packet, 120 ms.
    static let longest = 5760

    /// Samples of each channel at 48 kHz, 120 to 5760; nil if no encoder makes such a packet.
    ///
    /// ```
    ///  0 1 2 3 4 5 6 7
    /// +-+-+-+-+-+-+-+-+
    /// | config  |s| c |  c: one frame, two, or as many as the next byte says
    /// +-+-+-+-+-+-+-+-+
    /// ```
    static func samples(of bytes: [UInt8]) -> Int? {
        guard let first = bytes.first else { return nil }
        let config = Int(first >> 3)
        let frame =
            switch config {
            case 0..<12: [480, 960, 1920, 2880][config & 3]
            case 12..<16: [480, 960][config & 1]
            default: 120 << (config & 3)
            }
        let count =
            switch first & 3 {
            case 0: 1
            case 3: bytes.count > 1 ? Int(bytes[1] & 0x3F) : 0
            default: 2
            }
        return 1...longest ~= frame * count ? frame * count : nil
    }

    /// Whether the talker is quiet. The next packet may come late then, and the noise before goes on (§2.1.9).
    package static func isQuiet(_ bytes: [UInt8]) -> Bool { bytes.count <= 2 }
}
