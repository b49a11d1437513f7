/// A receiver's report of arrived packets of all streams, with their times
/// (draft-holmer-rmcat-transport-wide-cc-extensions-01 §3.1).
package struct TransportFeedback: Equatable, Sendable {
    package struct Arrival: Equatable, Sendable {
        /// Transport-wide.
        package var number: UInt16
        /// In ticks of the receiver's clock, modulo 2³².
        package var time: UInt32
    }

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
    /// How many packets the report covers.
    package var count: Int
    /// Those of them that have arrived, in the order of their numbers.
    package var arrivals: [Arrival]
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
    ///
    /// A run of thousands of packets takes two bytes. So only arrived packets take memory.
    init(_ reader: inout ByteReader) throws(MalformedPacket) {
        sender = try reader.uint32()
        media = try reader.uint32()
        first = try reader.uint16()
        count = Int(try reader.uint16())
        guard count <= Self.limit else { throw .inconsistent }
        let reference = try reader.uint32()
        number = UInt8(truncatingIfNeeded: reference)
        var chunks: [StatusChunk] = []
        var covered = 0
        while covered < count {
            let chunk = StatusChunk(bits: try reader.uint16())
            chunks.append(chunk)
            covered += chunk.length
        }
        // 64 ms are 256 ticks. Without the report's number, the field is the reference time in ticks.
        var time = reference & ~0xFF
        arrivals = []
        var start = 0
        for chunk in chunks {
            // The last chunk may cover more packets than there are.
            let length = min(chunk.length, count - start)
            for place in 0..<(chunk.hasArrivals ? length : 0) {
                switch chunk.status(at: place) {
                case 1: time &+= UInt32(try reader.byte())
                case 2: time &+= UInt32(bitPattern: Int32(Int16(bitPattern: try reader.uint16())))
                default: continue
                }
                arrivals.append(Arrival(number: first &+ UInt16(truncatingIfNeeded: start + place), time: time))
            }
            start += length
        }
    }
}

/// The statuses of packets that follow each other: a run of one status (§3.1.3), or a vector (§3.1.4).
private struct StatusChunk {
    let bits: UInt16

    /// How many packets the chunk covers.
    var length: Int {
        switch bits >> 14 {
        case 0, 1: Int(bits & 0x1FFF)
        case 2: 14
        default: 7
        }
    }

    var hasArrivals: Bool { bits >= 0x8000 || 1...2 ~= status(at: 0) }

    /// 1 or 2 for a packet that has arrived, with a step from the one before of 8 or 16 bits. 3 is reserved, and has no
    /// delta.
    func status(at place: Int) -> UInt16 {
        switch bits >> 14 {
        case 0, 1: bits >> 13 & 3
        case 2: bits >> (13 - place) & 1
        default: bits >> (12 - 2 * place) & 3
        }
    }
}
