/// The codecs that can be encoded: by libvpx, and AV1 by libaom.
package enum VideoCodec: String, Sendable, CaseIterable {
    case vp8, vp9, av1

    /// A still picture coded with this quantizer (of 0...63) or a lower one gains nothing visible from more frames: on
    /// text it is then 47 dB from the original.
    package var convergedQuantizer: Int {
        switch self {
        case .vp8: 8
        case .vp9: 16
        case .av1: 24
        }
    }

    /// A keyframe of text coded with this quantizer looks sharp: 43 dB.
    package var sharpQuantizer: Int {
        switch self {
        case .vp8: 12
        case .vp9: 16
        case .av1: 24
        }
    }
}
