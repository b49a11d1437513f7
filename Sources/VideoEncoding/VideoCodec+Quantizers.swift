package import Media

/// What the encoders make of text at a quantizer: libvpx's, and libaom's for AV1.
extension VideoCodec {
    /// A still picture coded with this quantizer (of 0...63) or a lower one gains nothing visible from more frames: on
    /// text it is then 50 dB from the original. In VP8 only patches are as fine.
    package var convergedQuantizer: Int {
        switch self {
        case .vp8: 7
        case .vp9: 16
        case .av1: 24
        }
    }

    /// The same where nothing is patched.
    package var convergedQuantizerUnpatched: Int { self == .vp8 ? 8 : convergedQuantizer }

    /// A keyframe of text coded with this quantizer looks sharp: 43 dB.
    package var sharpQuantizer: Int {
        switch self {
        case .vp8: 12
        case .vp9: 16
        case .av1: 24
        }
    }

    /// A keyframe of text coded with this quantizer needs no more: 51 dB. In VP8 it is half as large again as a sharp one.
    package var fineQuantizer: Int {
        switch self {
        case .vp8: 4
        case .vp9: 16
        case .av1: 24
        }
    }
}
