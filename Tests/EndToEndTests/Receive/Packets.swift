/// The parts of an RTP packet that tests look at, read by the text of RFC 3550 section 5.1 and not by Oriel's code.
struct RTPPacket {
    let sequenceNumber: UInt16
    let timestamp: UInt32
    let ssrc: UInt32
    let payloadType: UInt8
    let marker: Bool
    let payload: ArraySlice<UInt8>

    init?(_ bytes: [UInt8]) {
        guard bytes.count > 12, bytes[0] & ~0x10 == 0x80 else { return nil }
        var start = 12
        if bytes[0] & 0x10 != 0 {
            // RFC 3550 §5.3.1: the length of the extension in words, without its header.
            guard bytes.count > 16 else { return nil }
            start += 4 + 4 * (Int(bytes[14]) << 8 | Int(bytes[15]))
            guard bytes.count > start else { return nil }
        }
        marker = bytes[1] >> 7 == 1
        payloadType = bytes[1] & 0x7f
        sequenceNumber = UInt16(bytes[2]) << 8 | UInt16(bytes[3])
        timestamp = bytes[4..<8].reduce(0) { $0 << 8 | UInt32($1) }
        ssrc = bytes[8..<12].reduce(0) { $0 << 8 | UInt32($1) }
        payload = bytes[start...]
    }

    /// Whether a VP8 keyframe begins here: the P bit is clear (RFC 6386 section 9.1).
    var beginsVP8Keyframe: Bool { startOfVP8Frame.map { $0[0] & 1 == 0 } ?? false }

    /// Whether the packet ends just where the first partition of its VP8 frame does: a tag of three bytes and what the
    /// upper 19 bits of that tag say.
    var endsWithFirstVP8Partition: Bool {
        guard let frame = startOfVP8Frame else { return false }
        let tag = Int(frame[0]) | Int(frame[1]) << 8 | Int(frame[2]) << 16
        return frame.count == 3 + tag >> 5
    }

    /// What follows the descriptor of the first packet of a VP8 frame: the S bit at partition 0 (RFC 7741 section 4.2).
    /// The descriptor has two bytes, two for a 15-bit PictureID, one for TL0PICIDX, and one where T or K is set.
    private var startOfVP8Frame: [UInt8]? {
        let bytes = Array(payload)
        guard bytes.count > 6, bytes[0] & 0x17 == 0x10 else { return nil }
        var length = 1
        if bytes[0] & 0x80 != 0 {
            let extensions = bytes[1]
            length += 1
            if extensions & 0x80 != 0 { length += bytes[length] & 0x80 != 0 ? 2 : 1 }
            if extensions & 0x40 != 0 { length += 1 }
            if extensions & 0x30 != 0 { length += 1 }
        }
        return bytes.count >= length + 3 ? Array(bytes[length...]) : nil
    }
}

/// One RTCP packet of a compound (RFC 3550 section 6.1).
struct RTCPPart {
    let type: UInt8
    let bytes: ArraySlice<UInt8>

    static let senderReport: UInt8 = 200
    static let sourceDescription: UInt8 = 202
    static let goodbye: UInt8 = 203

    static func parts(of compound: [UInt8]) -> [RTCPPart] {
        var parts: [RTCPPart] = []
        var rest = compound[...]
        while rest.count >= 4 {
            let start = rest.startIndex
            let length = 4 * (Int(rest[start + 2]) << 8 + Int(rest[start + 3]) + 1)
            parts.append(RTCPPart(type: rest[start + 1], bytes: rest.prefix(length)))
            rest = rest.dropFirst(length)
        }
        return parts
    }

    /// A big-endian word, counted in words from the packet's start.
    func word(_ index: Int) -> UInt32 {
        bytes.dropFirst(4 * index).prefix(4).reduce(0) { $0 << 8 | UInt32($1) }
    }
}

/// Feedback as a receiver writes it.
enum Feedback {
    /// RFC 4585 section 6.3.1.
    static func pictureLossIndication(from receiver: UInt32 = 1, about media: UInt32) -> [UInt8] {
        [0x81, 206, 0, 2] + word(receiver) + word(media)
    }

    /// RFC 5104 section 4.3.1.
    static func fullIntraRequest(from receiver: UInt32 = 1, about media: UInt32, number: UInt8) -> [UInt8] {
        [0x84, 206, 0, 4] + word(receiver) + word(0) + word(media) + [number, 0, 0, 0]
    }

    private static func word(_ value: UInt32) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }
    }
}

/// Losses and changes of source in a stream of packets.
struct SequenceCheck {
    private(set) var missing = 0
    private(set) var sources: [UInt32] = []

    init(_ packets: [RTPPacket]) {
        var last: RTPPacket?
        for packet in packets {
            if let last, last.ssrc == packet.ssrc {
                missing += Int(packet.sequenceNumber &- last.sequenceNumber &- 1)
            } else {
                sources.append(packet.ssrc)
            }
            last = packet
        }
    }
}
