package import Media

/// Cuts encoded pictures into RTP payloads: VP8 (RFC 7741), VP9 in non-flexible mode (RFC 9628) or AV1 (RTP Payload
/// Format For AV1, version 1.0).
///
/// One stream, one spatial and one temporal layer; every picture is a reference for the next. Pass only pictures that
/// are sent: a picture that the encoder skipped takes no picture ID.
package struct VideoPacketizer: Sendable {
    package let codec: VideoCodec
    /// Bytes of an RTP packet, header included.
    package let maximumPacketSize: Int
    /// 0…32767; rises by one with each picture, and wraps. AV1 has none.
    private var pictureID: UInt16
    /// 0…255; rises by one with each picture, and wraps. VP8 only.
    private var baseLayerIndex: UInt8

    /// - Parameters:
    ///   - maximumPacketSize: bytes, at least 64. Leave room for later additions, such as an SRTP tag.
    ///   - pictureID: of the first picture; better random, as both RFCs allow.
    package init(codec: VideoCodec, maximumPacketSize: Int = 1200, pictureID: UInt16, baseLayerIndex: UInt8 = 0) {
        precondition(maximumPacketSize >= 64)
        self.codec = codec
        self.maximumPacketSize = maximumPacketSize
        self.pictureID = pictureID & 0x7FFF
        self.baseLayerIndex = baseLayerIndex
    }

    /// The fragments of the next picture, of about the same size each.
    ///
    /// - Parameters:
    ///   - picture: the encoded picture, at least a byte; of AV1 a temporal unit.
    ///   - dimensions: width and height of the picture, 1…65535 pixels. Sent with VP9 keyframes.
    package mutating func packetize(
        _ picture: Span<UInt8>,
        isKeyframe: Bool,
        dimensions: (width: UInt16, height: UInt16)
    ) -> PictureFragments {
        precondition(!picture.isEmpty)
        defer {
            pictureID = (pictureID &+ 1) & 0x7FFF
            baseLayerIndex &+= 1
        }
        let format: PayloadFormat =
            switch codec {
            case .vp8: .vp8(VP8Descriptor(pictureID: pictureID, baseLayerIndex: baseLayerIndex))
            case .vp9: .vp9(VP9Descriptor(pictureID: pictureID, keyframe: isKeyframe ? dimensions : nil))
            case .av1: .av1(AV1Aggregation(picture, isKeyframe: isKeyframe))
            }
        return PictureFragments(format, size: picture.count, room: maximumPacketSize - RTPHeader.size)
    }
}
