/// How the OBUs of one AV1 temporal unit are laid out in RTP payloads (RTP Payload Format For AV1, version 1.0, §4.4).
///
/// A payload is an aggregation header and then OBU elements, each an OBU without its size field or a part of one:
/// ```
///  0 1 2 3 4 5 6 7
/// +-+-+-+-+-+-+-+-+
/// |Z|Y| W |N|-|-|-|  Z, Y: the first element goes on from the packet before, the last one in the packet after;
/// +-+-+-+-+-+-+-+-+  W: 1…3 elements, of which the last has no length; 0: each has one; N: begins with a keyframe
/// |    length     |  LEB128
/// |    element    |
/// ```
struct AV1Aggregation: Sendable {
    /// An OBU as it is sent: its header without the size flag, then the payload (AV1 §5.3).
    private struct OBU: Sendable {
        let header: UInt8
        let extensionHeader: UInt8?
        /// Where in the picture the payload lies.
        let payload: Range<Int>
        /// Where the OBU lies among the bytes of all OBUs.
        let range: Range<Int>
    }

    /// The types of OBU (AV1 §6.2.2) that packets must not carry (§4.5 there): temporal delimiter, tile list, padding.
    private static let leftOut: Set<UInt8> = [2, 8, 15]
    static let sizeFlag: UInt8 = 0x02
    static let extensionFlag: UInt8 = 0x04

    private let isKeyframe: Bool
    private var obus: [OBU] = []
    /// Bytes of all OBUs as they are sent.
    private(set) var size = 0

    /// - Parameter picture: a temporal unit in the low-overhead format (AV1 §5.2), each OBU with its size. A malformed
    ///   OBU and all bytes after it are left out.
    init(_ picture: Span<UInt8>, isKeyframe: Bool) {
        self.isKeyframe = isKeyframe
        var position = 0
        while position < picture.count, let next = append(picture, at: position) { position = next }
    }

    /// Returns where the next OBU begins; nil for one that is malformed.
    private mutating func append(_ picture: Span<UInt8>, at start: Int) -> Int? {
        let header = picture[start]
        var position = start + 1
        var extensionHeader: UInt8?
        if header & Self.extensionFlag != 0 {
            guard position < picture.count else { return nil }
            extensionHeader = picture[position]
            position += 1
        }
        var length = picture.count - position
        if header & Self.sizeFlag != 0 {
            guard let field = LEB128.read(picture, at: position) else { return nil }
            position += field.size
            guard field.value <= picture.count - position else { return nil }
            length = field.value
        }
        if !Self.leftOut.contains(header >> 3 & 0x0F) {
            let end = size + 1 + (extensionHeader == nil ? 0 : 1) + length
            let obu = OBU(
                header: header & ~Self.sizeFlag,
                extensionHeader: extensionHeader,
                payload: position..<position + length,
                range: size..<end
            )
            obus.append(obu)
            size = end
        }
        return position + length
    }

    /// Bytes of the OBUs that always fit into a payload of `size` bytes, 16384 at most. Each element but the last may
    /// need a length of two bytes, and there are no more elements than bytes.
    func share(ofPayload size: Int) -> Int {
        let lengths = obus.count <= 3 ? max(obus.count - 1, 0) : obus.count
        return size - 1 - 2 * min(lengths, (size - 1) / 3)
    }

    /// Bytes of a payload with its aggregation header and lengths.
    func payloadSize(of range: Range<Int>) -> Int {
        let parts = obus.lazy.filter { $0.range.overlaps(range) }.map { $0.range.clamped(to: range).count }
        let count = parts.reduce(0) { count, _ in count + 1 }
        let withLength = count > 3 ? count : count - 1
        return parts.prefix(withLength).reduce(1 + range.count) { $0 + LEB128.size(of: $1) }
    }

    /// Appends a payload.
    ///
    /// - Parameter range: its share of the bytes of all OBUs; not empty.
    func write(_ range: Range<Int>, of picture: Span<UInt8>, to packet: inout [UInt8]) {
        let header = packet.count
        packet.append(range.lowerBound == 0 && isKeyframe ? 0x08 : 0)
        let count = obus.count { $0.range.overlaps(range) }
        if count <= 3 { packet[header] |= UInt8(count) << 4 }
        var index = 0
        for obu in obus where obu.range.overlaps(range) {
            let part = obu.range.clamped(to: range)
            index += 1
            if index == 1, part.lowerBound > obu.range.lowerBound { packet[header] |= 0x80 }
            if index == count, part.upperBound < obu.range.upperBound { packet[header] |= 0x40 }
            if index < count || count > 3 { LEB128.append(part.count, to: &packet) }
            write(part, of: obu, picture, to: &packet)
        }
    }

    private func write(_ part: Range<Int>, of obu: OBU, _ picture: Span<UInt8>, to packet: inout [UInt8]) {
        let start = obu.range.upperBound - obu.payload.count
        if part.contains(obu.range.lowerBound) { packet.append(obu.header) }
        if let extensionHeader = obu.extensionHeader, part.contains(start - 1) { packet.append(extensionHeader) }
        let shift = obu.payload.lowerBound - start
        let bytes = max(part.lowerBound, start) + shift..<max(part.upperBound, start) + shift
        packet.append(contentsOf: picture.extracting(bytes))
    }
}

/// Integers of seven bits a byte, the least significant first (AV1 §4.10.5).
enum LEB128 {
    static func append(_ value: Int, to bytes: inout [UInt8]) {
        var rest = value
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }

    /// Bytes of an integer that is not negative.
    static func size(of value: Int) -> Int { max(1, (Int.bitWidth - value.leadingZeroBitCount + 6) / 7) }

    /// Returns nil where the integer does not end, or exceeds the 32 bits that AV1 allows.
    static func read(_ bytes: Span<UInt8>, at start: Int) -> (value: Int, size: Int)? {
        var value = 0
        for index in 0..<min(8, bytes.count - start) {
            let byte = bytes[start + index]
            value |= Int(byte & 0x7F) << (7 * index)
            guard value <= UInt32.max else { return nil }
            if byte & 0x80 == 0 { return (value, index + 1) }
        }
        return nil
    }
}
