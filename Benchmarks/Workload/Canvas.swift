import CXCB

/// A window or a picture in the server to draw on, with colours as 0xRRGGBB and places in pixels.
final class Canvas {
    let drawable: xcb_drawable_t
    let width: Int
    let height: Int
    unowned let screen: Screen
    private let context: xcb_gcontext_t
    private var foreground: UInt32?
    private var background: UInt32?

    init(screen: Screen, drawable: xcb_drawable_t, width: Int, height: Int) {
        self.screen = screen
        self.drawable = drawable
        self.width = width
        self.height = height
        context = xcb_generate_id(screen.raw)
        // No GraphicsExpose events: nobody reads them.
        var values = [screen.font.id, 0]
        xcb_create_gc(
            screen.raw,
            context,
            drawable,
            XCB_GC_FONT.rawValue | XCB_GC_GRAPHICS_EXPOSURES.rawValue,
            &values
        )
    }

    func fill(_ x: Int, _ y: Int, _ width: Int, _ height: Int, _ colour: UInt32) {
        guard width > 0, height > 0 else { return }
        setColours(colour, nil)
        var rectangle = xcb_rectangle_t(x: Int16(x), y: Int16(y), width: UInt16(width), height: UInt16(height))
        xcb_poly_fill_rectangle(screen.raw, drawable, context, 1, &rectangle)
    }

    func fill(_ colour: UInt32) { fill(0, 0, width, height, colour) }

    /// A disc of a given diameter.
    func disc(_ x: Int, _ y: Int, _ diameter: Int, _ colour: UInt32) {
        setColours(colour, nil)
        var arc = xcb_arc_t(
            x: Int16(x),
            y: Int16(y),
            width: UInt16(diameter),
            height: UInt16(diameter),
            angle1: 0,
            angle2: 360 * 64
        )
        xcb_poly_fill_arc(screen.raw, drawable, context, 1, &arc)
    }

    func line(_ x0: Int, _ y0: Int, _ x1: Int, _ y1: Int, width: Int, _ colour: UInt32) {
        setColours(colour, nil)
        var lineWidth = UInt32(width)
        xcb_change_gc(screen.raw, context, XCB_GC_LINE_WIDTH.rawValue, &lineWidth)
        let points = [xcb_point_t(x: Int16(x0), y: Int16(y0)), xcb_point_t(x: Int16(x1), y: Int16(y1))]
        xcb_poly_line(screen.raw, UInt8(XCB_COORD_MODE_ORIGIN.rawValue), drawable, context, 2, points)
    }

    /// ASCII text, at most 255 characters of it, on an opaque ground; (x, y) is its top left corner.
    func text(_ text: String, _ x: Int, _ y: Int, _ colour: UInt32, on ground: UInt32) {
        let characters = text.utf8.prefix(255).map { CChar(bitPattern: $0) }
        if characters.isEmpty { return }
        setColours(colour, ground)
        xcb_image_text_8(
            screen.raw,
            UInt8(characters.count),
            drawable,
            context,
            Int16(x),
            Int16(y + screen.font.ascent),
            characters
        )
    }

    /// Copies a rectangle from another picture, or from elsewhere in this one.
    func copy(
        from source: Canvas,
        _ x: Int,
        _ y: Int,
        _ width: Int,
        _ height: Int,
        toX: Int,
        toY: Int
    ) {
        xcb_copy_area(
            screen.raw,
            source.drawable,
            drawable,
            context,
            Int16(x),
            Int16(y),
            Int16(toX),
            Int16(toY),
            UInt16(width),
            UInt16(height)
        )
    }

    /// Paints a rectangle pixel by pixel. `colour` gets the place within it.
    func paint(_ x: Int, _ y: Int, _ width: Int, _ height: Int, _ colour: (_ x: Int, _ y: Int) -> UInt32) {
        let format = screen.format
        let bytesPerRow = format.bytesPerRow(width)
        let rowsAtOnce = max(1, min(height, 200_000 / bytesPerRow))
        let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: rowsAtOnce * bytesPerRow, alignment: 8)
        defer { bytes.deallocate() }
        for first in stride(from: 0, to: height, by: rowsAtOnce) {
            let rows = min(rowsAtOnce, height - first)
            for row in 0..<rows {
                let start = bytes.baseAddress! + row * bytesPerRow
                for column in 0..<width {
                    format.store(format.pixel(colour(column, first + row)), start + column * format.bytesPerPixel)
                }
            }
            xcb_put_image(
                screen.raw,
                UInt8(XCB_IMAGE_FORMAT_Z_PIXMAP.rawValue),
                drawable,
                context,
                UInt16(width),
                UInt16(rows),
                Int16(x),
                Int16(y + first),
                0,
                format.depth,
                UInt32(rows * bytesPerRow),
                bytes.assumingMemoryBound(to: UInt8.self).baseAddress
            )
        }
    }

    private func setColours(_ foreground: UInt32, _ background: UInt32?) {
        let background = background ?? self.background ?? 0
        if foreground == self.foreground && background == self.background { return }
        self.foreground = foreground
        self.background = background
        var values = [screen.format.pixel(foreground), screen.format.pixel(background)]
        xcb_change_gc(
            screen.raw,
            context,
            XCB_GC_FOREGROUND.rawValue | XCB_GC_BACKGROUND.rawValue,
            &values
        )
    }
}
