extension RTCPPacket {
    /// The packets of a datagram, compound or of reduced size (RFC 5506). Packets of unknown kinds are skipped.
    ///
    /// - Parameter takesTransportFeedback: whether packets have transport-wide numbers; feedback on them is skipped otherwise.
    package static func parse(
        _ datagram: [UInt8],
        takesTransportFeedback: Bool = true
    ) throws(MalformedPacket) -> [RTCPPacket] {
        var reader = ByteReader(datagram[...])
        var packets: [RTCPPacket] = []
        repeat {
            if let packet = try next(&reader, takesTransportFeedback) { packets.append(packet) }
        } while reader.count > 0
        return packets
    }

    /// ```
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
    /// |V=2|P|  count  |      PT       |  length in words, minus one   |
    /// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
    /// ```
    private static func next(
        _ reader: inout ByteReader,
        _ takesTransportFeedback: Bool
    ) throws(MalformedPacket) -> RTCPPacket? {
        let first = try reader.byte()
        guard first >> 6 == 2 else { throw .version }
        let kind = try reader.byte()
        var body = try reader.slice(Int(try reader.uint16()) * 4)
        if first & 0x20 != 0, try !body.removePadding() { throw .inconsistent }
        let count = Int(first & 0x1F)
        switch (kind, count) {
        case (200, _): return .senderReport(try SenderReport(&body, count))
        case (201, _): return .receiverReport(try ReceiverReport(&body, count))
        case (203, _): return .goodbye(try (0..<count).map { (_) throws(MalformedPacket) in try body.uint32() })
        case (205, 1): return .genericNACK(try GenericNACK(&body))
        case (205, 15) where takesTransportFeedback: return .transportFeedback(try TransportFeedback(&body))
        case (206, 1): return .pictureLoss(PictureLossIndication(sender: try body.uint32(), media: try body.uint32()))
        case (206, 4): return .fullIntra(try FullIntraRequest(&body))
        case (206, 15): return try maximumBitrate(&body).map { .maximumBitrate($0) }
        default: return nil
        }
    }

    /// Nil for other feedback of the application layer (RFC 4585 §6.4).
    private static func maximumBitrate(_ reader: inout ByteReader) throws(MalformedPacket) -> Double? {
        // The sender's SSRC, and none of media.
        try reader.skip(8)
        guard reader.count >= 8, try reader.array(4) == Array("REMB".utf8) else { return nil }
        // 8 bits count SSRCs, 6 are an exponent, and 18 a mantissa. The SSRCs add nothing.
        let fields = try reader.uint32()
        return Double(sign: .plus, exponent: Int(fields >> 18 & 0x3F), significand: Double(fields & 0x3FFFF))
    }
}

extension ReportBlock {
    fileprivate init(_ reader: inout ByteReader) throws(MalformedPacket) {
        ssrc = try reader.uint32()
        let loss = try reader.uint32()
        fractionLost = UInt8(loss >> 24)
        cumulativeLost = Int32(truncatingIfNeeded: loss << 8) >> 8
        highestSequenceNumber = try reader.uint32()
        jitter = try reader.uint32()
        lastSenderReport = try reader.uint32()
        delaySinceLastSenderReport = try reader.uint32()
    }
}

extension SenderReport {
    fileprivate init(_ reader: inout ByteReader, _ count: Int) throws(MalformedPacket) {
        ssrc = try reader.uint32()
        ntpTime = NTPTime(rawValue: try reader.uint64())
        rtpTimestamp = try reader.uint32()
        packetCount = try reader.uint32()
        octetCount = try reader.uint32()
        reports = try (0..<count).map { (_) throws(MalformedPacket) in try ReportBlock(&reader) }
    }
}

extension ReceiverReport {
    fileprivate init(_ reader: inout ByteReader, _ count: Int) throws(MalformedPacket) {
        ssrc = try reader.uint32()
        reports = try (0..<count).map { (_) throws(MalformedPacket) in try ReportBlock(&reader) }
    }
}

extension FullIntraRequest {
    fileprivate init(_ reader: inout ByteReader) throws(MalformedPacket) {
        sender = try reader.uint32()
        try reader.skip(4)
        guard reader.count % 8 == 0 else { throw .inconsistent }
        commands = try (0..<reader.count / 8).map { (_) throws(MalformedPacket) in
            let command = Command(ssrc: try reader.uint32(), sequenceNumber: try reader.byte())
            try reader.skip(3)
            return command
        }
    }
}

extension GenericNACK {
    fileprivate init(_ reader: inout ByteReader) throws(MalformedPacket) {
        sender = try reader.uint32()
        media = try reader.uint32()
        lost = []
        while reader.count > 0 {
            let first = try reader.uint16()
            let following = try reader.uint16()
            lost.append(first)
            for bit in 0..<16 as Range<UInt16> where following >> bit & 1 != 0 { lost.append(first &+ 1 &+ bit) }
        }
    }
}
