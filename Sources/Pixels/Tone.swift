internal import CPixels

/// A way to brighten a dark picture: white is what was its brightest, shadows get twice the contrast of that, and colours
/// keep their strength beside the brightness. Black stays black.
package struct Tone: Equatable, Sendable {
    /// Factors of the contrast, in 32nds.
    package static let scales = [32, 40, 48, 64, 96, 128]
    /// Codes of luma above black at which the shadows end, as they come out.
    private static let knee = 96.0
    /// Codes of luma from black to white.
    private static let reach = 219.0

    /// One of `scales`.
    package let scale: Int

    package init(scale: Int) {
        precondition(Self.scales.contains(scale), "no such scale")
        self.scale = scale
    }

    var kernel: pixels_tone {
        let factor = Double(scale) / 32
        // From the knee to white.
        let lights = (Self.reach - Self.knee) / (Self.reach / factor - Self.knee / (2 * factor))
        let lift = Self.reach - lights * Self.reach / factor
        return pixels_tone(
            shadows: UInt16(2 * scale),
            lights: UInt16((lights * 32).rounded()),
            lift: UInt16(lift.rounded()),
            chroma: Int16(scale)
        )
    }
}

extension NV12Picture {
    /// Brightens a part of the picture.
    ///
    /// - Parameter region: even, within the picture.
    package mutating func apply(_ tone: Tone, to region: PixelRect) {
        precondition(PixelRect(size).contains(region) && region == region.expandedToEven, "beyond the picture")
        var kernel = tone.kernel
        let (planes, bytes) = (mutablePlanes, region.chromaBytes)
        for row in region.y..<region.y + region.height {
            pixels_tone_luma(planes.luma[row] + region.x, region.width, &kernel)
        }
        for row in bytes.y..<bytes.y + bytes.height {
            pixels_tone_chroma(planes.chroma[row] + bytes.x, bytes.width, &kernel)
        }
    }
}

/// How often each luma is in a picture, by a sample of its pixels.
package struct LumaHistogram: Equatable, Sendable {
    /// Each 16th pixel of each 16th row.
    private static let step = 16

    /// By the luma.
    package private(set) var counts = [UInt32](repeating: 0, count: 256)

    /// - Parameter luma: of a picture, or of a part of one, with the stride of `layout`.
    package init(luma: RawSpan, layout: NV12Layout) {
        layout.checkBounds(luma: luma.byteCount, chroma: .max)
        withRows(luma, stride: layout.lumaStride) { rows in
            counts.withUnsafeMutableBufferPointer { counts in
                let size = layout.size
                pixels_count_luma(rows.start, rows.stride, size.width, size.height, Self.step, counts.baseAddress!)
            }
        }
    }

    /// 0…255, of which 16 is black and 235 white.
    package var mean: Double {
        let (sum, total) = counts.enumerated().reduce((0.0, 0.0)) {
            ($0.0 + Double($1.offset) * Double($1.element), $0.1 + Double($1.element))
        }
        return sum / max(total, 1)
    }

    /// The least luma that no more than one in `share` pixels are above.
    package func brightest(butOneIn share: Int) -> Int {
        let most = counts.reduce(0, &+) / UInt32(share)
        var above: UInt32 = 0
        for luma in (0...255).reversed() {
            above += counts[luma]
            if above > most { return luma }
        }
        return 0
    }
}
