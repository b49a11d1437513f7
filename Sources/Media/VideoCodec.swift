/// The video codecs by their media subtypes (IANA: video/VP8, video/VP9, video/AV1), as in SDP.
package enum VideoCodec: String, Sendable, CaseIterable {
    case vp8 = "VP8"
    case vp9 = "VP9"
    case av1 = "AV1"
}
