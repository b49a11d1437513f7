/// The fixed header of an RTP packet (RFC 3550 §5.1).
///
/// ```
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |V=2|P|X|  CC   |M|     PT      |       sequence number         |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                           timestamp                           |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                             SSRC                              |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// ```
package struct RTPHeader: Equatable, Sendable {
    /// Bytes of a header without contributing sources and extensions.
    package static let size = 12

    /// Set on the last packet of a picture.
    package var marker: Bool
    /// 0…127.
    package var payloadType: UInt8
    package var sequenceNumber: UInt16
    /// Ticks of the payload's clock: 90 kHz for video.
    package var timestamp: UInt32
    package var ssrc: UInt32

    package func write(to packet: inout [UInt8]) {
        packet.append(0x80)
        packet.append((marker ? 0x80 : 0) | payloadType & 0x7F)
        packet.append(bigEndian: sequenceNumber)
        packet.append(bigEndian: timestamp)
        packet.append(bigEndian: ssrc)
    }
}

/// A packet that is not RTP version 2, or whose lengths contradict each other.
package struct MalformedRTP: Error, Equatable {}

/// A received packet: its header and its payload, without contributing sources, extension and padding.
package struct RTPPacket: Equatable, Sendable {
    package var header: RTPHeader
    package var payload: [UInt8]

    package init(parsing bytes: [UInt8]) throws(MalformedRTP) {
        do {
            var reader = ByteReader(bytes)
            let first = try reader.byte()
            guard first >> 6 == 2 else { throw MalformedRTP() }
            let second = try reader.byte()
            header = RTPHeader(
                marker: second & 0x80 != 0,
                payloadType: second & 0x7F,
                sequenceNumber: try reader.uint16(),
                timestamp: try reader.uint32(),
                ssrc: try reader.uint32()
            )
            try reader.skip(Int(first & 0x0F) * 4)
            if first & 0x10 != 0 {
                try reader.skip(2)
                try reader.skip(Int(try reader.uint16()) * 4)
            }
            if first & 0x20 != 0 {
                let padding = Int(try reader.last())
                guard padding > 0 else { throw MalformedRTP() }
                try reader.dropLast(padding)
            }
            payload = try reader.array(reader.count)
        } catch {
            throw MalformedRTP()
        }
    }
}
