package import Media

/// The quality of encoded text at a quantizer: of libvpx, and of libaom for AV1.
extension VideoCodec {
    /// At this quantizer (of 0...63) or a lower one, further frames of a still picture gain nothing visible: text is 50
    /// dB from the original. In VP8 only patches are as fine.
    package var convergedQuantizer: Int { fine(vp8: 7) }

    /// The same without patches.
    package var convergedQuantizerUnpatched: Int { self == .vp8 ? 8 : convergedQuantizer }

    /// A keyframe of text at this quantizer looks sharp: 43 dB.
    package var sharpQuantizer: Int { fine(vp8: 12) }

    /// A keyframe of text need not be finer than this quantizer: 51 dB. In VP8 it is half as large again as a sharp
    /// one.
    package var fineQuantizer: Int { fine(vp8: 4) }

    /// VP9 and AV1 gain nothing by a finer quantizer than that of sharp text.
    private func fine(vp8 quantizer: Int) -> Int {
        switch self {
        case .vp8: quantizer
        case .vp9: 16
        case .av1: 24
        }
    }

    /// The largest errors of samples, of 255, that edges have in a picture at `convergedQuantizer`.
    var mostOff: (luma: UInt8, chroma: UInt8) { self == .av1 ? (20, 12) : (10, 5) }

    /// The coarsest keyframe in which text can be read without effort: 30 dB. For AV1, in a thorough encode.
    package var readableQuantizer: Int {
        switch self {
        case .vp8: 50
        case .vp9: 46
        case .av1: 52
        }
    }

    /// At this quantizer, text is clear in a keyframe: 38 dB. For AV1, in a thorough encode.
    package var clearQuantizer: Int {
        switch self {
        case .vp8, .vp9: 32
        case .av1: 40
        }
    }

    /// How much finer a quantizer must be in other frames for the same quality. libaom's are 4 dB coarser there.
    package var followingStep: Int { self == .av1 ? 6 : 0 }

    /// Bytes of a macroblock of dense text without a reference, measured on pages of a terminal at 1280x720. For AV1 it
    /// is smooth text, in thoroughly encoded keyframes.
    ///
    /// - Parameter quantizer: from 8 on.
    package func textBytes(_ quantizer: Int) -> Double {
        let points: [(quantizer: Int, bytes: Double)] =
            switch self {
            case .vp8: [(8, 32), (16, 25), (24, 21), (32, 17), (40, 12.9), (48, 8.1), (56, 4.2), (63, 2)]
            case .vp9: [(8, 38), (16, 29), (24, 24), (32, 18), (40, 12), (48, 6.8), (56, 2.9), (63, 2)]
            case .av1: [(8, 40), (16, 40), (24, 35), (32, 30), (40, 24), (48, 16.7), (56, 10.9), (63, 6)]
            }
        let upper = points.firstIndex { $0.quantizer >= quantizer } ?? points.count - 1
        if upper == 0 { return points[0].bytes }
        let (from, to) = (points[upper - 1], points[upper])
        let part = Double(quantizer - from.quantizer) / Double(to.quantizer - from.quantizer)
        return from.bytes + (to.bytes - from.bytes) * min(part, 1)
    }
}
