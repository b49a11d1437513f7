import CXCB
import Glibc
package import Media
package import Pixels
import Posix
package import Time

/// Rings and frames on a screen: windows without a manager that let clicks through and are above all others. One thread uses it.
package final class ScreenMarks {
    private static let ringThickness = 4
    /// Of the font `fixed`, 6x13.
    private static let characterWidth = 6
    /// How often a mark that others cover is raised.
    private static let raiseInterval = Duration.seconds(1)
    /// The input of a window (Nonrectangular Window Shape Extension, `ShapeInput`).
    private static let inputShape: xcb_shape_kind_t = 2

    /// Four windows, one for each side.
    private struct Mark {
        var sides: [xcb_window_t] = []
        /// Of the sides; empty while it is hidden.
        var shown: [PixelRect] = []
        var colour: UInt32 = 0
    }

    private let display: String
    private let connection: OpaquePointer
    private let root: xcb_window_t
    private let screen: PixelSize
    /// No part of a window.
    private let nothing: xcb_xfixes_region_t
    private let colours: [UInt32]
    private var ring = Mark()
    private var frame = Mark()
    private var raisedAt: Instant?
    private var isCovered = false
    private var label: (window: xcb_window_t, context: xcb_gcontext_t, text: [UInt8], place: PixelRect)?

    /// Connects to an X server.
    ///
    /// - Parameter name: nil for the one that DISPLAY names.
    package init(display name: String?) throws(PictureWindowError) {
        display = name ?? getenv("DISPLAY").map { String(cString: $0) } ?? "an unnamed display"
        var number: Int32 = 0
        // Never nil: a failed connection reports an error.
        connection = xcb_connect(name, &number)
        guard xcb_connection_has_error(connection) == 0 else {
            xcb_disconnect(connection)
            throw .cannotConnect(display: display)
        }
        var screens = xcb_setup_roots_iterator(xcb_get_setup(connection))
        for _ in 0..<number { xcb_screen_next(&screens) }
        let screen = screens.data.pointee
        root = screen.root
        self.screen = PixelSize(width: Int(screen.width_in_pixels), height: Int(screen.height_in_pixels))
        nothing = xcb_generate_id(connection)
        // The server lets nobody use the extension who has not asked for its version.
        free(xcb_xfixes_query_version_reply(connection, xcb_xfixes_query_version(connection, 2, 0), nil))
        xcb_xfixes_create_region(connection, nothing, 0, nil)
        colours = MarkColour.allCases.map { [connection] in $0.pixel(on: connection, of: screen) }
        try check()
    }

    deinit { xcb_disconnect(connection) }

    /// Readable when `handleEvents` may have events. Owned by the marks.
    package var fileDescriptor: Int32 { xcb_get_file_descriptor(connection) }

    // MARK: - Marks

    /// - Parameter place: on the screen.
    package func showRing(around place: PixelRect) throws(PictureWindowError) {
        let sides = markSides(around: place, thickness: Self.ringThickness, on: screen)
        show(&ring, sides, .ring)
        try check()
    }

    package func hideRing() { hide(&ring) }

    /// A frame of red, outside of a part of the screen where something lies outside of it. Another one replaces it.
    package func showFrame(_ brightness: StatusFrame, around part: PixelRect) throws(PictureWindowError) {
        let (thickness, colour): (Int, MarkColour) =
            switch brightness {
            case .low: (1, .low)
            case .high: (4, .high)
            case .off, .medium, .auto: (2, .medium)
            }
        show(&frame, markSides(around: part, thickness: thickness, on: screen), colour)
        try check()
    }

    package func hideFrame() { hide(&frame) }

    /// Shows a line of text in a corner of the screen, away from a place.
    package func showLabel(_ text: String, awayFrom y: Int) {
        // Fonts of the X server have the first 256 characters.
        let bytes = text.unicodeScalars.prefix(120).map { $0.value < 256 ? UInt8($0.value) : UInt8(ascii: "?") }
        let width = min(Self.characterWidth * bytes.count + 16, screen.width)
        let isBelow = y < screen.height / 2
        let place = PixelRect(
            x: (screen.width - width) / 2,
            y: isBelow ? screen.height - 48 : 16,
            width: width,
            height: 28
        )
        guard label?.text != bytes || label?.place != place else { return }
        hideLabel()
        let window = window(at: place, colours[MarkColour.label.rawValue])
        let (font, context) = (xcb_generate_id(connection), xcb_generate_id(connection))
        let name = "fixed"
        xcb_open_font(connection, font, UInt16(name.utf8.count), name)
        let values = [colours[MarkColour.ring.rawValue], colours[MarkColour.label.rawValue], font]
        let mask = XCB_GC_FOREGROUND.rawValue | XCB_GC_BACKGROUND.rawValue | XCB_GC_FONT.rawValue
        xcb_create_gc(connection, context, window, mask, values)
        xcb_close_font(connection, font)
        label = (window, context, bytes, place)
        drawLabel()
    }

    package func hideLabel() {
        guard let label else { return }
        xcb_free_gc(connection, label.context)
        xcb_destroy_window(connection, label.window)
        self.label = nil
        xcb_flush(connection)
    }

    private func drawLabel() {
        guard let label else { return }
        label.text.withUnsafeBytes { text in
            let characters = text.assumingMemoryBound(to: CChar.self).baseAddress
            _ = xcb_image_text_8(connection, UInt8(text.count), label.window, label.context, 8, 18, characters)
        }
        xcb_flush(connection)
    }

    private func show(_ mark: inout Mark, _ sides: [PixelRect], _ colour: MarkColour) {
        let pixel = colours[colour.rawValue]
        guard mark.shown != sides || mark.colour != pixel else { return }
        hide(&mark)
        mark = Mark(sides: sides.map { window(at: $0, pixel) }, shown: sides, colour: pixel)
        xcb_flush(connection)
    }

    private func hide(_ mark: inout Mark) {
        for side in mark.sides { xcb_destroy_window(connection, side) }
        mark = Mark()
        xcb_flush(connection)
    }

    /// Shows one side.
    private func window(at place: PixelRect, _ pixel: UInt32) -> xcb_window_t {
        let window = xcb_generate_id(connection)
        // In the order of the bits of the mask.
        let values = [pixel, 1, XCB_EVENT_MASK_VISIBILITY_CHANGE.rawValue]
        xcb_create_window(
            connection,
            UInt8(XCB_COPY_FROM_PARENT),
            window,
            root,
            Int16(clamping: place.x),
            Int16(clamping: place.y),
            UInt16(place.width),
            UInt16(place.height),
            0,
            UInt16(XCB_WINDOW_CLASS_INPUT_OUTPUT.rawValue),
            UInt32(XCB_COPY_FROM_PARENT),
            XCB_CW_BACK_PIXEL.rawValue | XCB_CW_OVERRIDE_REDIRECT.rawValue | XCB_CW_EVENT_MASK.rawValue,
            values
        )
        let name = Array("oriel mark".utf8)
        xcb_change_property(
            connection,
            UInt8(XCB_PROP_MODE_REPLACE.rawValue),
            window,
            XCB_ATOM_WM_NAME.rawValue,
            XCB_ATOM_STRING.rawValue,
            8,
            UInt32(name.count),
            name
        )
        xcb_xfixes_set_window_shape_region(connection, window, Self.inputShape, 0, 0, nothing)
        xcb_map_window(connection, window)
        return window
    }

    // MARK: - Events

    /// - Returns: when to call it again, though there are no events.
    @discardableResult
    package func handleEvents() throws(PictureWindowError) -> Instant? {
        while let event = xcb_poll_for_event(connection) {
            if Int32(event.pointee.response_type & 0x7F) == XCB_VISIBILITY_NOTIFY {
                event.withMemoryRebound(to: xcb_visibility_notify_event_t.self, capacity: 1) {
                    if UInt32($0.pointee.state) != XCB_VISIBILITY_UNOBSCURED.rawValue { isCovered = true }
                }
            }
            free(event)
        }
        drawLabel()
        let now: Instant = MonotonicClock.now()
        if isCovered, raisedAt.map({ now >= $0 + Self.raiseInterval }) ?? true {
            (isCovered, raisedAt) = (false, now)
            for side in frame.sides + ring.sides {
                let above = [XCB_STACK_MODE_ABOVE.rawValue]
                xcb_configure_window(connection, side, UInt16(XCB_CONFIG_WINDOW_STACK_MODE.rawValue), above)
            }
        }
        try check()
        return isCovered ? raisedAt.map { $0 + Self.raiseInterval } : nil
    }

    private func check() throws(PictureWindowError) {
        xcb_flush(connection)
        if xcb_connection_has_error(connection) != 0 { throw .connectionLost(display: display) }
    }
}

private enum MarkColour: Int, CaseIterable {
    case low, medium, high, ring, label

    /// 0…65,535 each.
    private var channels: (red: UInt16, green: UInt16, blue: UInt16) {
        switch self {
        case .low: (0x8000, 0x2000, 0x2000)
        case .medium: (0xC000, 0x3000, 0x3000)
        case .high: (0xFFFF, 0x4000, 0x4000)
        case .ring: (0xFFFF, 0x9000, 0x0000)
        case .label: (0x1000, 0x1000, 0x1800)
        }
    }

    /// The value of the colour, or of white where there is none.
    func pixel(on connection: OpaquePointer, of screen: xcb_screen_t) -> UInt32 {
        let cookie = xcb_alloc_color(connection, screen.default_colormap, channels.red, channels.green, channels.blue)
        guard let reply = xcb_alloc_color_reply(connection, cookie, nil) else { return screen.white_pixel }
        defer { free(reply) }
        return reply.pointee.pixel
    }
}

/// The sides of a mark around a part of a screen: outside of it where there is room, and within it elsewhere. A side that is not on the screen
/// is left out.
package func markSides(around part: PixelRect, thickness: Int, on screen: PixelSize) -> [PixelRect] {
    let whole = PixelRect(screen)
    guard let part = part.intersection(whole) else { return [] }
    let left = part.x >= thickness ? part.x - thickness : part.x
    let top = part.y >= thickness ? part.y - thickness : part.y
    let (right, bottom) = (part.x + part.width, part.y + part.height)
    let farRight = right + thickness <= screen.width ? right + thickness : right
    let farBottom = bottom + thickness <= screen.height ? bottom + thickness : bottom
    let width = farRight - left
    let height = max(farBottom - top - 2 * thickness, 0)
    let sides = [
        PixelRect(x: left, y: top, width: width, height: thickness),
        PixelRect(x: left, y: farBottom - thickness, width: width, height: thickness),
        PixelRect(x: left, y: top + thickness, width: thickness, height: height),
        PixelRect(x: farRight - thickness, y: top + thickness, width: thickness, height: height),
    ]
    return sides.filter { !$0.isEmpty }.compactMap { $0.intersection(whole) }
}
