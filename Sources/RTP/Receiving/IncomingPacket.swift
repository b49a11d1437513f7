/// A received packet of RTP (RFC 3550 §5.1), with the header extensions that matter to a receiver (RFC 8285 §4.2).
struct IncomingPacket: Equatable {
    private(set) var header: RTPHeader
    /// The mid of its media description.
    private(set) var mid: String?
    /// The number among all packets of the peer.
    private(set) var transportNumber: UInt16?
    /// The level in decibels below the loudest, 0 to 127.
    private(set) var soundLevel: UInt8?
    /// Without contributing sources, extensions and padding. Empty in a packet of padding alone.
    private(set) var payload: ArraySlice<UInt8>

    init(_ bytes: [UInt8], _ extensions: HeaderExtensions) throws(MalformedPacket) {
        var reader = ByteReader(bytes[...])
        let first = try reader.byte()
        guard first >> 6 == 2 else { throw .version }
        let second = try reader.byte()
        header = RTPHeader(
            marker: second & 0x80 != 0,
            payloadType: second & 0x7F,
            sequenceNumber: try reader.uint16(),
            timestamp: try reader.uint32(),
            ssrc: try reader.uint32()
        )
        try reader.skip(Int(first & 0x0F) * 4)
        var elements: ByteReader?
        if first & 0x10 != 0 {
            let profile = try reader.uint16()
            let body = try reader.slice(Int(try reader.uint16()) * 4)
            if profile == 0xBEDE { elements = body }
        }
        if first & 0x20 != 0, try !reader.removePadding() { throw .inconsistent }
        payload = try reader.rest(reader.count)
        if var elements { try readExtensions(&elements, extensions) }
    }

    private mutating func readExtensions(
        _ reader: inout ByteReader,
        _ identifiers: HeaderExtensions
    ) throws(MalformedPacket) {
        var name: ArraySlice<UInt8>?
        defer { mid = name.map { String(decoding: $0, as: UTF8.self) } }
        while reader.count > 0 {
            let head = try reader.byte()
            // Zeros are padding. An identifier of 15 ends the elements.
            if head == 0 { continue }
            if head >> 4 == 15 { return }
            let value = try reader.rest(Int(head & 0x0F) + 1)
            switch head >> 4 {
            case identifiers.mid: name = value
            case identifiers.transportNumber where value.count == 2:
                transportNumber = UInt16(value[value.startIndex]) << 8 | UInt16(value[value.startIndex + 1])
            case identifiers.soundLevel where value.count == 1: soundLevel = value[value.startIndex] & 0x7F
            default: break
            }
        }
    }

    /// The packet that this one repeats (RFC 4588 §4). The payload begins with the original sequence number.
    func original(ssrc: UInt32, payloadType: UInt8) -> IncomingPacket? {
        guard payload.count >= 2 else { return nil }
        var packet = self
        let start = payload.startIndex
        packet.header.sequenceNumber = UInt16(payload[start]) << 8 | UInt16(payload[start + 1])
        packet.header.ssrc = ssrc
        packet.header.payloadType = payloadType
        packet.payload = payload.dropFirst(2)
        return packet
    }
}
