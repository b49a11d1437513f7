package import Pixels

/// Small pictures on one sheet, five in a row, under titles.
package struct ContactSheet: ~Copyable {
    private static let columns = 5
    private static let cell = PixelSize(width: 320, height: 180)
    private static let gap = 8
    /// Pixels of the sheet for each of the font.
    private static let scale = 2
    private static let lineHeight = scale * SheetFont.size.height
    private static let width = columns * (cell.width + gap) + gap
    private static let background: UInt8 = 24
    private static let ink: UInt8 = 224

    /// Rows of red, green and blue bytes without padding.
    package private(set) var rgb: [UInt8] = []
    /// Where the next picture comes in the last row; 0 for a new row.
    private var column = 0
    private var rowTop = 0
    private var small = NV12Picture(size: cell)
    private var whole = NV12Picture(size: PixelSize(width: 2, height: 2))
    private var rescaler: Rescaler?

    package init() {}

    package var size: PixelSize { PixelSize(width: Self.width, height: rgb.count / (3 * Self.width)) }

    /// Letters that do not fit are left out.
    package mutating func addTitle(_ title: String) {
        let top = addRows(3 * Self.gap + Self.lineHeight)
        draw(title, x: Self.gap, y: top + 2 * Self.gap, width: Self.width - 2 * Self.gap)
        column = 0
    }

    /// - Parameters:
    ///   - picture: of any even size, not empty.
    ///   - label: below it. Letters that do not fit are left out.
    package mutating func add(_ picture: PlanarPicture, label: String) {
        if column == 0 { rowTop = addRows(Self.cell.height + Self.lineHeight + 2 * Self.gap) }
        let x = Self.gap + column * (Self.cell.width + Self.gap)
        draw(scaled(picture), x: x, y: rowTop)
        draw(label, x: x, y: rowTop + Self.cell.height + Self.gap / 2, width: Self.cell.width)
        column = (column + 1) % Self.columns
    }

    /// - Returns: the first of them.
    private mutating func addRows(_ count: Int) -> Int {
        defer { rgb += [UInt8](repeating: Self.background, count: 3 * Self.width * count) }
        return size.height
    }

    private mutating func scaled(_ picture: PlanarPicture) -> [UInt8] {
        if rescaler?.input != picture.size {
            rescaler = Rescaler(from: picture.size, to: Self.cell)
            whole = NV12Picture(size: picture.size)
            small.fillBlack()
        }
        whole.copy(picture)
        whole.withPlanes { luma, chroma in
            rescaler?.rescale(luma: luma, chroma: chroma, layout: whole.layout, into: &small)
        }
        return small.withPlanes { luma, chroma in rgbBytes(luma: luma, chroma: chroma, layout: small.layout) }
    }

    private mutating func draw(_ picture: [UInt8], x: Int, y: Int) {
        let stride = 3 * Self.cell.width
        for row in 0..<Self.cell.height {
            let start = 3 * (Self.width * (y + row) + x)
            rgb.replaceSubrange(start..<start + stride, with: picture[row * stride..<(row + 1) * stride])
        }
    }

    private mutating func draw(_ text: String, x: Int, y: Int, width: Int) {
        let advance = Self.scale * SheetFont.size.width
        for (index, letter) in text.unicodeScalars.prefix(width / advance).enumerated() {
            draw(SheetFont.glyph(letter), x: x + index * advance, y: y)
        }
    }

    private mutating func draw(_ glyph: UInt64, x: Int, y: Int) {
        for row in 0..<SheetFont.size.height * Self.scale {
            for column in 0..<SheetFont.size.width * Self.scale {
                let bit = row / Self.scale * SheetFont.size.width + column / Self.scale
                guard (glyph >> UInt64(59 - bit)) & 1 == 1 else { continue }
                let start = 3 * (Self.width * (y + row) + x + column)
                for byte in start..<start + 3 { rgb[byte] = Self.ink }
            }
        }
    }
}
