import Media

/// Joins the payloads of one encoded frame in their order: VP8 (RFC 7741), VP9 (RFC 9628) or AV1 (RTP Payload Format
/// For AV1, version 1.0).
struct FrameAssembly {
    /// The most bytes of a frame: four times the keyframe of the largest picture from a sane encoder.
    static let longest = 8 << 20

    let codec: VideoCodec
    let timestamp: UInt32
    private(set) var isKeyframe = false
    private var bytes: [UInt8] = []
    /// VP9: where the frames of further spatial layers begin.
    private var layers: [Int] = []
    /// AV1: an OBU that continues in the next packet.
    private var openOBU: [UInt8]?

    init(codec: VideoCodec, timestamp: UInt32) {
        self.codec = codec
        self.timestamp = timestamp
    }

    /// Whether a payload begins a frame that can be decoded alone.
    static func beginsKeyframe(_ payload: ArraySlice<UInt8>, _ codec: VideoCodec) -> Bool {
        switch codec {
        case .vp8: (try? FramePart(vp8: payload))?.isKeyframe ?? false
        case .vp9: (try? FramePart(vp9: payload))?.isKeyframe ?? false
        // Z and N: no OBU continues, and a coded video sequence begins.
        case .av1: payload.count > 1 && payload[payload.startIndex] & 0x88 == 0x08
        }
    }

    private var isEmpty: Bool { bytes.isEmpty && openOBU == nil }

    /// - Throws: if the payload is malformed or does not continue the present ones. The frame is then lost.
    mutating func append(_ payload: ArraySlice<UInt8>) throws(MalformedPacket) {
        switch codec {
        case .vp8: try append(try FramePart(vp8: payload))
        case .vp9: try append(try FramePart(vp9: payload))
        case .av1: try appendElements(of: payload)
        }
        guard bytes.count + (openOBU?.count ?? 0) <= Self.longest else { throw .inconsistent }
    }

    private mutating func append(_ part: FramePart) throws(MalformedPacket) {
        guard part.isFirst == isEmpty else { throw .inconsistent }
        if part.isFirst { isKeyframe = part.isKeyframe }
        if part.beginsLayer {
            guard layers.count < 7 else { throw .inconsistent }
            layers.append(bytes.count)
        }
        bytes += part.bytes
    }

    /// The frame, complete if no packet is missing; nil if its first or last packet is.
    consuming func finish() -> ReceivedFrame? {
        guard !bytes.isEmpty, openOBU == nil else { return nil }
        return ReceivedFrame(codec: codec, isKeyframe: isKeyframe, timestamp: timestamp, bytes: bytes + layerIndex)
    }

    /// The index that joins the frames of layers into a superframe (VP9 bitstream specification, annex B), with sizes
    /// of four bytes.
    private var layerIndex: [UInt8] {
        if layers.isEmpty { return [] }
        let marker: UInt8 = 0b110_11_000 | UInt8(layers.count)
        var index = [marker]
        for (start, end) in zip([0] + layers, layers + [bytes.count]) {
            let size = end - start
            for shift in [0, 8, 16, 24] { index.append(UInt8(truncatingIfNeeded: size >> shift)) }
        }
        index.append(marker)
        return index
    }

    // MARK: - AV1

    /// An OBU of its header and its size, 0, alone. Each temporal unit begins so (AV1 §7.5), and packets leave it out.
    private static let temporalDelimiter: [UInt8] = [0x12, 0]

    /// Reverses `AV1Aggregation`.
    private mutating func appendElements(of payload: ArraySlice<UInt8>) throws(MalformedPacket) {
        guard payload.count > 1, let header = payload.first else { throw .truncated }
        let (goesOn, isOpen) = (header & 0x80 != 0, header & 0x40 != 0)
        let count = Int(header >> 4 & 3)
        guard goesOn == (openOBU != nil) else { throw .inconsistent }
        if isEmpty { isKeyframe = header & 0x08 != 0 }
        var rest = payload.dropFirst()
        var index = 0
        while !rest.isEmpty {
            index += 1
            var length = rest.count
            if count == 0 || index < count {
                guard let field = LEB128.read(rest.span, at: 0) else { throw .truncated }
                rest = rest.dropFirst(field.size)
                length = field.value
            }
            guard length <= rest.count else { throw .truncated }
            // Grows in place: a copy for each packet would take quadratic time.
            var obu = openOBU.take() ?? []
            obu += rest.prefix(length)
            rest = rest.dropFirst(length)
            if rest.isEmpty, isOpen { openOBU = obu } else { try close(obu) }
        }
        guard count == 0 || index == count else { throw .inconsistent }
    }

    /// Appends a whole OBU with its size (AV1 §5.2).
    private mutating func close(_ obu: [UInt8]) throws(MalformedPacket) {
        guard let header = obu.first else { return }
        if bytes.isEmpty { bytes = Self.temporalDelimiter }
        // OBUs in packets may have their size, too.
        if header & AV1Aggregation.sizeFlag != 0 { return bytes += obu }
        let start = header & AV1Aggregation.extensionFlag == 0 ? 1 : 2
        guard obu.count >= start else { throw .truncated }
        bytes.append(header | AV1Aggregation.sizeFlag)
        if start == 2 { bytes.append(obu[1]) }
        LEB128.append(obu.count - start, to: &bytes)
        bytes += obu[start...]
    }
}
