/// Which packets of all streams to a receiver have arrived there, and when
/// (draft-holmer-rmcat-transport-wide-cc-extensions-01 §3.1).
package struct TransportFeedback: Equatable, Sendable {
    /// A tick of the arrival times, in microseconds.
    static let tick = 250
    /// The most packets that one report may cover. A receiver of 30 Mb/s, which reports every quarter of a second, covers 800.
    static let limit = 8192

    package var sender: UInt32
    package var media: UInt32
    /// One more than that of the report before, modulo 256.
    package var number: UInt8
    /// The transport-wide number of the first packet that the report covers.
    package var first: UInt16
    /// When each packet from `first` on has arrived: in ticks of the receiver's clock, modulo 2³²; nil if it has not so far.
    package var arrivals: [UInt32?]
}

extension TransportFeedback {
    /// ```
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
    /// |       SSRC of sender          …       SSRC of media           |
    /// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
    /// |     number of first packet    |       count of packets        |
    /// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
    /// |        reference time, in 64 ms               | report number |
    /// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
    /// |  chunks of 16 bits with a status for each packet, then deltas of 8 or 16 bits for those that have arrived
    /// ```
    init(_ reader: inout ByteReader) throws {
        sender = try reader.uint32()
        media = try reader.uint32()
        first = try reader.uint16()
        let count = Int(try reader.uint16())
        guard count <= Self.limit else { throw MalformedRTCP.inconsistent }
        let reference = try reader.uint32()
        number = UInt8(truncatingIfNeeded: reference)
        let statuses = try Self.statuses(of: count, &reader)
        // 64 ms are 256 ticks: without the report's number, the field is the reference time in ticks.
        var time = reference & ~0xFF
        arrivals = []
        arrivals.reserveCapacity(count)
        for status in statuses {
            switch status {
            case 1: time &+= UInt32(try reader.byte())
            case 2: time &+= UInt32(bitPattern: Int32(Int16(bitPattern: try reader.uint16())))
            default:
                // 0 says that the packet has not arrived; 3 is reserved, and has no delta.
                arrivals.append(nil)
                continue
            }
            arrivals.append(time)
        }
    }

    /// The status of each packet, 0…3 (§3.1.2 to §3.1.4). The last chunk may cover more packets than there are.
    private static func statuses(of count: Int, _ reader: inout ByteReader) throws -> [UInt8] {
        var statuses: [UInt8] = []
        statuses.reserveCapacity(count)
        while statuses.count < count {
            let chunk = try reader.uint16()
            let left = count - statuses.count
            switch chunk >> 14 {
            case 0, 1:
                let status = UInt8(truncatingIfNeeded: chunk >> 13) & 3
                statuses.append(contentsOf: repeatElement(status, count: min(left, Int(chunk & 0x1FFF))))
            case 2:
                for bit in 0..<min(left, 14) { statuses.append(UInt8(truncatingIfNeeded: chunk >> (13 - bit)) & 1) }
            default:
                for pair in 0..<min(left, 7) {
                    statuses.append(UInt8(truncatingIfNeeded: chunk >> (12 - 2 * pair)) & 3)
                }
            }
        }
        return statuses
    }
}
