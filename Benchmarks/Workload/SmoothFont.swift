import CFreeType

/// A scalable font, drawn as desktops draw text: with smooth edges, light hinting and letters at whole pixels.
final class SmoothFont {
    static let usual = "/usr/share/fonts/truetype/dejavu/DejaVuSansMono.ttf"

    private struct Glyph {
        /// From the pen to its left column, and from the base line up to its top row.
        let left: Int
        let top: Int
        let width: Int
        let advance: Int
        /// The coverage of each pixel, 0…255, row by row.
        let coverage: [UInt8]
    }

    let lineHeight: Int
    private let ascent: Int
    private var library: FT_Library?
    private var face: FT_Face?
    private var glyphs: [Unicode.Scalar: Glyph] = [:]

    /// - Parameter size: of the em square, in pixels.
    init(_ path: String, size: Int) throws(WorkloadError) {
        guard FT_Init_FreeType(&library) == 0, FT_New_Face(library, path, 0, &face) == 0, let face,
            FT_Set_Pixel_Sizes(face, 0, FT_UInt(size)) == 0
        else { throw .unreadableFont(path) }
        let metrics = face.pointee.size.pointee.metrics
        ascent = Int(metrics.ascender + 63) / 64
        lineHeight = Int(metrics.height + 63) / 64
    }

    deinit {
        if let face { FT_Done_Face(face) }
        FT_Done_FreeType(library)
    }

    /// Draws a line; (x, y) is its top left corner. The part beyond `end` is left out.
    func draw(_ text: String, on picture: inout SmoothPicture, _ x: Int, _ y: Int, end: Int, _ colour: UInt32) {
        var pen = x
        for scalar in text.unicodeScalars {
            let glyph = glyph(scalar)
            if pen + glyph.advance > end { return }
            for (index, coverage) in glyph.coverage.enumerated() where coverage > 0 {
                let (row, column) = index.quotientAndRemainder(dividingBy: glyph.width)
                picture.mix(pen + glyph.left + column, y + ascent - glyph.top + row, colour, Double(coverage) / 255)
            }
            pen += glyph.advance
        }
    }

    private func glyph(_ scalar: Unicode.Scalar) -> Glyph {
        if let glyph = glyphs[scalar] { return glyph }
        FT_Load_Char(face, FT_ULong(scalar.value), FT_Int32(oriel_freetype_render))
        let slot = face!.pointee.glyph.pointee
        let (width, rows) = (Int(slot.bitmap.width), Int(slot.bitmap.rows))
        let coverage = (0..<rows * width).map { index in
            slot.bitmap.buffer[index / width * Int(slot.bitmap.pitch) + index % width]
        }
        let glyph = Glyph(
            left: Int(slot.bitmap_left),
            top: Int(slot.bitmap_top),
            width: width,
            advance: Int(slot.advance.x) / 64,
            coverage: coverage
        )
        glyphs[scalar] = glyph
        return glyph
    }
}

/// Pixels in memory, 0xRRGGBB.
struct SmoothPicture {
    let width: Int
    let height: Int
    private var pixels: [UInt32]

    init(width: Int, height: Int, ground: UInt32) {
        (self.width, self.height) = (width, height)
        pixels = Array(repeating: ground, count: width * height)
    }

    subscript(x: Int, y: Int) -> UInt32 { pixels[y * width + x] }

    mutating func mix(_ x: Int, _ y: Int, _ colour: UInt32, _ amount: Double) {
        guard 0..<width ~= x, 0..<height ~= y else { return }
        pixels[y * width + x] = blend(pixels[y * width + x], colour, amount)
    }
}
