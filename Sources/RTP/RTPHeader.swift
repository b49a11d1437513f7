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
