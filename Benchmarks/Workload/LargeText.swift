import CXCB
import Glibc

/// The letters of the server's font, enlarged dot by dot: a bare X server has no large fonts.
struct LargeText {
    private let font: Font
    /// For each printable ASCII character its dots, row by row.
    private var glyphs: [[Bool]] = []

    init(_ screen: Screen) throws(WorkloadError) {
        font = screen.font
        let picture = screen.makePixmap(width: font.cellWidth, height: font.cellHeight)
        let white = screen.format.pixel(0xffffff)
        for character in UInt8(32)..<127 {
            picture.text(String(UnicodeScalar(character)), 0, 0, 0xffffff, on: 0)
            let request = xcb_get_image(
                screen.raw,
                UInt8(XCB_IMAGE_FORMAT_Z_PIXMAP.rawValue),
                picture.drawable,
                0,
                0,
                UInt16(font.cellWidth),
                UInt16(font.cellHeight),
                .max
            )
            guard let reply = xcb_get_image_reply(screen.raw, request, nil) else { throw .connectionLost }
            defer { free(reply) }
            let data = UnsafeRawPointer(xcb_get_image_data(reply)!)
            let format = screen.format
            glyphs.append(
                (0..<font.cellWidth * font.cellHeight).map { index in
                    let (y, x) = index.quotientAndRemainder(dividingBy: font.cellWidth)
                    let address = data + y * format.bytesPerRow(font.cellWidth) + x * format.bytesPerPixel
                    return format.load(address) & white != 0
                }
            )
        }
    }

    func width(_ text: String, scale: Int) -> Int { text.utf8.count * font.cellWidth * scale }
    func height(scale: Int) -> Int { font.cellHeight * scale }

    /// Draws ASCII text; (x, y) is its top left corner.
    func draw(_ text: String, on canvas: Canvas, _ x: Int, _ y: Int, scale: Int, _ colour: UInt32) {
        for (column, character) in text.utf8.enumerated() where (32..<127).contains(character) {
            let glyph = glyphs[Int(character) - 32]
            let left = x + column * font.cellWidth * scale
            for row in 0..<font.cellHeight {
                var start = 0
                while start < font.cellWidth {
                    var end = start
                    while end < font.cellWidth && glyph[row * font.cellWidth + end] { end += 1 }
                    canvas.fill(left + start * scale, y + row * scale, (end - start) * scale, scale, colour)
                    start = end + 1
                }
            }
        }
    }
}
