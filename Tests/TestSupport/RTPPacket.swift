package import RTP

/// A packet that is not RTP version 2, or whose lengths contradict each other.
package struct MalformedRTP: Error, Equatable {}

/// A received packet: its header and its payload, without contributing sources, extension and padding (RFC 3550 §5.1).
package struct RTPPacket: Equatable, Sendable {
    package let header: RTPHeader
    package let payload: [UInt8]

    package init(parsing bytes: [UInt8]) throws(MalformedRTP) {
        guard bytes.count >= RTPHeader.size, bytes[0] >> 6 == 2 else { throw MalformedRTP() }
        func number(_ range: Range<Int>) -> UInt32 { bytes[range].reduce(0) { $0 << 8 | UInt32($1) } }
        var stream = RTPStream(
            ssrc: number(8..<12),
            payloadType: bytes[1] & 0x7F,
            sequenceNumber: UInt16(number(2..<4)),
            timestampOffset: 0
        )
        header = stream.nextHeader(timestamp: number(4..<8), marker: bytes[1] & 0x80 != 0)
        var start = RTPHeader.size + Int(bytes[0] & 0x0F) * 4
        if bytes[0] & 0x10 != 0 {
            guard bytes.count >= start + 4 else { throw MalformedRTP() }
            start += 4 + Int(number(start + 2..<start + 4)) * 4
        }
        var end = bytes.count
        if bytes[0] & 0x20 != 0 {
            guard bytes[end - 1] > 0 else { throw MalformedRTP() }
            end -= Int(bytes[end - 1])
        }
        guard start <= end else { throw MalformedRTP() }
        payload = Array(bytes[start..<end])
    }
}
