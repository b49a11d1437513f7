import CXCB
import Pixels
import TestSupport

@testable import X11Capture

/// Draws known pixels on a display, over a connection of its own.
struct Painter {
    let connection: XConnection
    private let context: xcb_gcontext_t

    init(_ server: XServer) throws {
        connection = try XConnection(display: server.display)
        context = xcb_generate_id(connection.raw)
        xcb_create_gc(connection.raw, context, connection.root, 0, nil)
        try connection.synchronize()
    }

    /// Fills a rectangle of the screen with a pixel value, and returns once that is done.
    ///
    /// - Parameter window: to draw on, in its own pixels; nil for the screen.
    func fill(_ region: PixelRect, _ pixel: UInt32, on window: UInt32? = nil) throws {
        var value = pixel
        xcb_change_gc(connection.raw, context, XCB_GC_FOREGROUND.rawValue, &value)
        var rectangle = xcb_rectangle_t(
            x: Int16(region.x),
            y: Int16(region.y),
            width: UInt16(region.width),
            height: UInt16(region.height)
        )
        xcb_poly_fill_rectangle(connection.raw, window ?? connection.root, context, 1, &rectangle)
        try connection.synchronize()
    }

    /// Fills the screen with cells of 7x5 pixels, each of a value of its own, and returns the rule.
    func fillWithCells() throws -> (_ x: Int, _ y: Int) -> UInt32 {
        let screen = try connection.screenRegion()
        let mask = UInt32(truncatingIfNeeded: (UInt64(1) << connection.screen.pointee.root_depth) - 1)
        func pixel(_ x: Int, _ y: Int) -> UInt32 {
            UInt32(x / 7 &* 7919 &+ y / 5 &* 104_729 &+ 12345) &* 2_654_435 & mask
        }
        for y in stride(from: 0, to: screen.height, by: 5) {
            for x in stride(from: 0, to: screen.width, by: 7) {
                var value = pixel(x, y)
                xcb_change_gc(connection.raw, context, XCB_GC_FOREGROUND.rawValue, &value)
                var rectangle = xcb_rectangle_t(x: Int16(x), y: Int16(y), width: 7, height: 5)
                xcb_poly_fill_rectangle(connection.raw, connection.root, context, 1, &rectangle)
            }
        }
        try connection.synchronize()
        return pixel
    }

    /// Gives the pointer the look of a glyph of the standard cursor font, for as long as the painter lives.
    func setCursor(glyph: UInt16) throws {
        let font = xcb_generate_id(connection.raw)
        let cursor = xcb_generate_id(connection.raw)
        let name = "cursor"
        xcb_open_font(connection.raw, font, UInt16(name.utf8.count), name)
        let white = UInt16.max
        xcb_create_glyph_cursor(
            connection.raw,
            cursor,
            font,
            font,
            glyph,
            glyph + 1,
            0,
            0,
            0,
            white,
            white,
            white
        )
        var value = cursor
        xcb_change_window_attributes(connection.raw, connection.root, XCB_CW_CURSOR.rawValue, &value)
        try connection.synchronize()
    }

    /// A window with a title, shown at once. Returns its identifier.
    ///
    /// - Parameter id: of a window that was destroyed; nil for a new one.
    func openWindow(title: String, at region: PixelRect, id: UInt32? = nil) throws -> UInt32 {
        let window = id ?? xcb_generate_id(connection.raw)
        xcb_create_window(
            connection.raw,
            UInt8(XCB_COPY_FROM_PARENT),
            window,
            connection.root,
            Int16(region.x),
            Int16(region.y),
            UInt16(region.width),
            UInt16(region.height),
            0,
            UInt16(XCB_WINDOW_CLASS_INPUT_OUTPUT.rawValue),
            connection.screen.pointee.root_visual,
            0,
            nil
        )
        xcb_change_property(
            connection.raw,
            UInt8(XCB_PROP_MODE_REPLACE.rawValue),
            window,
            XCB_ATOM_WM_NAME.rawValue,
            XCB_ATOM_STRING.rawValue,
            8,
            UInt32(title.unicodeScalars.count),
            title.unicodeScalars.map { UInt8($0.value) }
        )
        xcb_map_window(connection.raw, window)
        try connection.synchronize()
        return window
    }
}

extension Painter {
    func configure(_ window: UInt32, x: Int, y: Int, width: Int? = nil, height: Int? = nil) throws {
        var mask = XCB_CONFIG_WINDOW_X.rawValue | XCB_CONFIG_WINDOW_Y.rawValue
        var values = [UInt32(x), UInt32(y)]
        if let width, let height {
            mask |= XCB_CONFIG_WINDOW_WIDTH.rawValue | XCB_CONFIG_WINDOW_HEIGHT.rawValue
            values += [UInt32(width), UInt32(height)]
        }
        xcb_configure_window(connection.raw, window, UInt16(mask), values)
        try connection.synchronize()
    }

    /// Sets a property whose values are windows.
    func set(_ name: String, of window: UInt32, to windows: [UInt32]) throws {
        let sequence = xcb_intern_atom(connection.raw, 0, UInt16(name.utf8.count), name).sequence
        let atom: xcb_intern_atom_reply_t = try connection.value("InternAtom", sequence)
        xcb_change_property(
            connection.raw,
            UInt8(XCB_PROP_MODE_REPLACE.rawValue),
            window,
            atom.atom,
            XCB_ATOM_WINDOW.rawValue,
            32,
            UInt32(windows.count),
            windows
        )
        try connection.synchronize()
    }

    /// Puts a window into another one.
    func reparent(_ window: UInt32, into parent: UInt32, x: Int, y: Int) throws {
        xcb_reparent_window(connection.raw, window, parent, Int16(x), Int16(y))
        try connection.synchronize()
    }

    func hide(_ window: UInt32) throws {
        xcb_unmap_window(connection.raw, window)
        try connection.synchronize()
    }

    func show(_ window: UInt32) throws {
        xcb_map_window(connection.raw, window)
        try connection.synchronize()
    }

    func destroy(_ window: UInt32) throws {
        xcb_destroy_window(connection.raw, window)
        try connection.synchronize()
    }
}

extension ScreenGrabber {
    /// Grabs everything.
    func grab() throws(X11Error) -> GrabOutcome {
        var all = noTiles
        all.insertAll()
        var changed = noTiles
        return try grab(all, changed: &changed)
    }

    /// The value of a pixel, read by the format alone.
    func pixel(_ x: Int, _ y: Int) -> UInt32 {
        let side = BlockSet.tile
        return withTile(column: x / side, row: y / side) { tile in
            let size = format.pixelFormat.bytesPerPixel
            let offset = y % side * bytesPerRow + x % side * size
            var value: UInt32 = 0
            for index in 0..<size {
                let byte = UInt32(tile.unsafeLoad(fromByteOffset: offset + index, as: UInt8.self))
                value |= byte << UInt32(8 * (format.pixelFormat.byteOrder == .littleEndian ? index : size - 1 - index))
            }
            return value & (format.pixelFormat.redMask | format.pixelFormat.greenMask | format.pixelFormat.blueMask)
        }
    }

    /// The first pixel that is not as the rule says; nil when all are.
    func firstDifference(from rule: (_ x: Int, _ y: Int) -> UInt32) -> String? {
        for y in 0..<region.height {
            for x in 0..<region.width where pixel(x, y) != rule(region.x + x, region.y + y) {
                return "(\(x), \(y)): \(pixel(x, y)) instead of \(rule(region.x + x, region.y + y))"
            }
        }
        return nil
    }
}
