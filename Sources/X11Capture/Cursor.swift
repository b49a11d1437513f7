import CXCB
package import Pixels

package struct CursorShape: Equatable, Sendable {
    /// The pixel of the image that points, counted from its top left corner.
    package let hotspotX: Int
    package let hotspotY: Int
    package let width: Int
    package let height: Int
    /// `width * height` pixels, row by row: alpha in the highest byte, then red, green and blue multiplied by alpha.
    package let pixels: [UInt32]
}

/// The pointer: its position on the screen, in pixels, and its image.
package struct Cursor: Equatable, Sendable {
    package let x: Int
    package let y: Int
    package let shape: CursorShape

    /// The rectangle of its image; may reach beyond the screen.
    package var region: PixelRect {
        PixelRect(x: x - shape.hotspotX, y: y - shape.hotspotY, width: shape.width, height: shape.height)
    }
}

/// Tracks the pointer. Its image is requested only after a change.
package final class CursorTracker {
    /// Whether `drainEvents()` reports `.pointerMoved`. There is no event when a program moves the pointer.
    package let hasMotionEvents: Bool
    private let connection: XConnection
    private var shape: CursorShape?

    /// A sent question without an answer yet.
    package struct Question: ~Copyable {
        fileprivate let sequence: UInt32
    }

    /// Nil if the server lacks XFixes: then the pointer cannot be shown.
    package init?(connection: XConnection) throws(X11Error) {
        guard connection.extensions.fixes != nil else { return nil }
        self.connection = connection
        let mask = XCB_XFIXES_CURSOR_NOTIFY_MASK_DISPLAY_CURSOR.rawValue
        try connection.check(
            "XFixesSelectCursorInput",
            xcb_xfixes_select_cursor_input_checked(connection.raw, connection.root, mask)
        )
        hasMotionEvents = try connection.selectRawMotion()
    }

    /// Asks for the pointer's position. The request is sent with the next one that waits.
    package func ask() -> Question {
        Question(sequence: xcb_query_pointer(connection.raw, connection.root).sequence)
    }

    /// The pointer at the time of the question; nil while it was on another screen.
    ///
    /// - Parameter events: those that `drainEvents()` returned since the last answer.
    package func answer(_ question: consuming Question, after events: XEvents) throws(X11Error) -> Cursor? {
        let place: xcb_query_pointer_reply_t = try connection.value("QueryPointer", question.sequence)
        guard place.same_screen != 0 else { return nil }
        let current: CursorShape
        if let shape, !events.contains(.cursorChanged) { current = shape } else { current = try shapeOrArrow() }
        shape = current
        return Cursor(x: Int(place.root_x), y: Int(place.root_y), shape: current)
    }

    private func shapeOrArrow() throws(X11Error) -> CursorShape {
        do throws(X11Error) {
            return try fetchShape()
        } catch .requestFailed {
            // Servers with the SECURITY extension refuse the image of a cursor whose creator is gone, such as xsetroot.
            return .arrow
        }
    }

    private func fetchShape() throws(X11Error) -> CursorShape {
        let sequence = xcb_xfixes_get_cursor_image(connection.raw).sequence
        let image: XReply<xcb_xfixes_get_cursor_image_reply_t> = try connection.reply("XFixesGetCursorImage", sequence)
        let pixels = UnsafeBufferPointer(
            start: xcb_xfixes_get_cursor_image_cursor_image(image.pointer),
            count: Int(xcb_xfixes_get_cursor_image_cursor_image_length(image.pointer))
        )
        let header = image.value
        return CursorShape(
            hotspotX: Int(header.xhot),
            hotspotY: Int(header.yhot),
            width: Int(header.width),
            height: Int(header.height),
            pixels: Array(pixels)
        )
    }
}

extension XConnection {
    /// Asks for events of the pointer's motion. Returns whether there will be any.
    fileprivate func selectRawMotion() throws(X11Error) -> Bool {
        guard let input = extensions.input, input.version >= (2, 1) else { return false }
        do throws(X11Error) {
            try check("XISelectEvents", oriel_xcb_select_raw_motion(raw, root))
            return true
        } catch .requestFailed {
            return false
        }
    }
}
