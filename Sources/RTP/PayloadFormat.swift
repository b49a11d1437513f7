/// The layout of a picture in RTP payloads.
enum PayloadFormat: Sendable {
    case vp8(VP8Descriptor)
    case vp9(VP9Descriptor)
    case av1(AV1Aggregation)

    /// Bytes of a picture of `size` bytes that go into payloads.
    func size(ofPicture size: Int) -> Int {
        switch self {
        case .vp8, .vp9: size
        case .av1(let aggregation): aggregation.size
        }
    }

    /// Bytes of a picture that always fit into a payload of `size` bytes. Each packet has room for the longest
    /// descriptor, so that all have about the same size.
    func share(ofPayload size: Int) -> Int {
        switch self {
        case .vp8: size - VP8Descriptor.size
        case .vp9(let descriptor): size - descriptor.size(isFirst: true)
        case .av1(let aggregation): aggregation.share(ofPayload: size)
        }
    }

    /// Bytes of a payload.
    func size(of fragment: PictureFragments.Fragment) -> Int {
        switch self {
        case .vp8: VP8Descriptor.size + fragment.range.count
        case .vp9(let descriptor): descriptor.size(isFirst: fragment.isFirst) + fragment.range.count
        case .av1(let aggregation): aggregation.payloadSize(of: fragment.range)
        }
    }

    /// Appends a payload to a packet that holds its header.
    func write(_ fragment: PictureFragments.Fragment, of picture: Span<UInt8>, to packet: inout [UInt8]) {
        switch self {
        case .vp8(let descriptor):
            descriptor.write(isFirst: fragment.isFirst, to: &packet)
            packet.append(contentsOf: picture.extracting(fragment.range))
        case .vp9(let descriptor):
            descriptor.write(isFirst: fragment.isFirst, isLast: fragment.isLast, to: &packet)
            packet.append(contentsOf: picture.extracting(fragment.range))
        case .av1(let aggregation): aggregation.write(fragment.range, of: picture, to: &packet)
        }
    }
}
