import Glibc
import Pixels
import TestSupport

/// A window of a `Desktop`: a page that is longer than the window and scrolls in it, or film. A page is of text, or a part of a
/// screen of the gallery.
struct DesktopWindow {
    private static let glyph = (width: 8, height: 11)

    /// Where it stands; even from left to right, and partly beyond the screen perhaps.
    private(set) var frame: PixelRect
    private(set) var isFilm: Bool
    /// The row of the page that is the first one of the window.
    private var top = 0
    private let pageHeight: Int
    private var lineHeight = 16
    /// Of the page, row by row as wide as the window; chroma at full height, so that pages may move by odd numbers of rows.
    private var luma: [UInt8]
    private var chroma: [UInt8]

    init(_ frame: PixelRect, isFilm: Bool, _ random: inout SplitMix) {
        self.frame = frame
        self.isFilm = isFilm
        pageHeight = isFilm ? frame.height : frame.height * .random(in: 2...4, using: &random) + 600
        luma = Array(repeating: 0, count: frame.width * pageHeight)
        chroma = luma
        turnPage(&random)
    }

    /// Fills the page with text, or with the next picture of the film.
    mutating func turnPage(_ random: inout SplitMix) {
        let paper = UInt8.random(in: isFilm ? 16...200 : 190...235, using: &random)
        let ink = UInt8.random(in: 16...90, using: &random)
        lineHeight = .random(in: 12...24, using: &random)
        luma.withUnsafeMutableBytes { _ = memset($0.baseAddress!, Int32(paper), $0.count) }
        chroma.withUnsafeMutableBytes { _ = memset($0.baseAddress!, 128, $0.count) }
        if isFilm { return roll(&random) }
        if random.next() & 3 == 0 { return showGallery(&random) }
        for line in 0..<pageHeight / lineHeight {
            let y = line * lineHeight
            if Int.random(in: 0..<12, using: &random) == 0 { continue }
            let end = frame.width - .random(in: 0...frame.width / 3, using: &random)
            var x = 0
            while x + Self.glyph.width <= end {
                if random.next() & 7 > 0 { drawGlyph(x, y, ink: ink, paper: paper, &random) }
                x += Self.glyph.width
            }
            if random.next() & 3 == 0 {
                tint(PixelRect(x: 0, y: y, width: max(2, end / 4) & ~1, height: lineHeight), &random)
            }
        }
    }

    /// Fills the page with a part of a screen, again and again.
    private mutating func showGallery(_ random: inout SplitMix) {
        let screen = Gallery.shared.picture(GalleryPicture.names.randomElement(using: &random)!)
        let (left, top) = (
            Int.random(in: 0..<screen.width, using: &random), Int.random(in: 0..<screen.height, using: &random)
        )
        for y in 0..<pageHeight {
            for x in stride(from: 0, to: frame.width, by: 2) {
                func colour(_ x: Int) -> UInt32 { screen.colour((left + x) % screen.width, (top + y) % screen.height) }
                let (first, second) = (YUV(colour(x)), YUV(colour(x + 1)))
                let place = y * frame.width + x
                (luma[place], luma[place + 1]) = (UInt8(first.y), UInt8(second.y))
                (chroma[place], chroma[place + 1]) = (
                    UInt8((first.u + second.u + 1) / 2), UInt8((first.v + second.v + 1) / 2)
                )
            }
        }
    }

    /// Moves the page, by any number of rows; it begins anew at its end.
    mutating func scroll(by rows: Int) { top = ((top + rows) % pageHeight + pageHeight) % pageHeight }

    mutating func move(toX x: Int, y: Int) { frame = PixelRect(x: x, y: y, width: frame.width, height: frame.height) }

    /// The next picture of a film.
    mutating func roll(_ random: inout SplitMix) {
        for row in 0..<pageHeight {
            let shade = Int(random.next() & 63) + row * 2 % 128
            luma.withUnsafeMutableBytes {
                let line = $0.baseAddress! + row * frame.width
                memset(line, Int32(16 + shade), frame.width)
                let start = Int(random.next() & 0xffff) % frame.width
                memset(line + start, Int32(200 - shade), min(frame.width - start, 12))
            }
            chroma.withUnsafeMutableBytes {
                let line = $0.baseAddress! + row * frame.width
                fillChroma(line, frame.width, u: UInt8(96 + shade / 4), v: UInt8(160 - shade / 4))
            }
        }
    }

    /// Changes one letter. Returns where on the screen.
    mutating func type(_ random: inout SplitMix) -> PixelRect {
        let column = Int.random(in: 0...max(0, frame.width / Self.glyph.width - 1), using: &random)
        let x = column * Self.glyph.width
        let row = Int.random(in: 0..<max(1, frame.height - Self.glyph.height), using: &random)
        let y = (top + row) % pageHeight
        if x + Self.glyph.width <= frame.width, y + Self.glyph.height <= pageHeight {
            drawGlyph(x, y, ink: 30, paper: 220, &random)
        }
        return PixelRect(x: frame.x + x, y: frame.y + row, width: Self.glyph.width, height: Self.glyph.height)
    }

    /// Gives some rows of the page another colour, a little or very much so. Returns nothing: all of the window may show it.
    mutating func tint(_ random: inout SplitMix) {
        let y = Int.random(in: 0..<pageHeight, using: &random)
        let height = Int.random(in: 1...max(1, min(frame.height, pageHeight - y)), using: &random)
        tint(PixelRect(x: 0, y: y, width: frame.width, height: min(height, pageHeight - y)), &random)
    }

    private mutating func tint(_ part: PixelRect, _ random: inout SplitMix) {
        let (u, v) = (UInt8.random(in: 128 - 60...128 + 60, using: &random), UInt8(random.next() & 127) + 64)
        for row in part.y..<min(part.y + part.height, pageHeight) {
            chroma.withUnsafeMutableBytes { fillChroma($0.baseAddress! + row * frame.width, part.width, u: u, v: v) }
        }
    }

    private mutating func drawGlyph(_ x: Int, _ y: Int, ink: UInt8, paper: UInt8, _ random: inout SplitMix) {
        guard y + Self.glyph.height <= pageHeight else { return }
        for row in 0..<Self.glyph.height {
            // Each bit of the pattern is a byte of ink or of paper.
            let spread = (random.next() & 0x0101_0101_0101_0101) &* 0xff
            let line =
                (spread & (0x0101_0101_0101_0101 &* UInt64(ink))) | (~spread & (0x0101_0101_0101_0101 &* UInt64(paper)))
            luma.withUnsafeMutableBytes {
                $0.storeBytes(of: line, toByteOffset: (y + row) * frame.width + x, as: UInt64.self)
            }
        }
    }

    /// Paints what it shows of one row of the screen.
    func paint(
        _ y: Int,
        _ columns: Range<Int>,
        luma line: UnsafeMutableRawPointer,
        chroma pairs: UnsafeMutableRawPointer
    ) {
        guard frame.y..<frame.y + frame.height ~= y else { return }
        let inside = columns.clamped(to: frame.x..<frame.x + frame.width)
        if inside.isEmpty { return }
        let start = (top + y - frame.y) % pageHeight * frame.width + inside.lowerBound - frame.x
        luma.withUnsafeBytes { _ = memcpy(line + inside.lowerBound, $0.baseAddress! + start, inside.count) }
        chroma.withUnsafeBytes { _ = memcpy(pairs + inside.lowerBound, $0.baseAddress! + start, inside.count) }
    }
}
