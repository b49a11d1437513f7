import CXCB
import Glibc
import Pixels
import Posix
package import Time

/// The pointer and the keyboard of a screen, for this program alone: whatever is done comes here, and to no window.
package final class GrabbedPointer {
    private static let patience = Duration.seconds(1)
    /// X keysyms (keysymdef.h).
    private static let keys: [(symbol: UInt32, key: PickGesture.Key)] = [
        (0xFF1B, .escape), (0x6D, .monitor), (0x73, .screen),
    ]

    private let connection: XConnection
    private var keyOfCode: [UInt8: PickGesture.Key] = [:]
    /// What came after the last motion.
    private var later: PickGesture.Input?

    /// - Throws: `.requestFailed` if another program holds them.
    package init(on connection: XConnection) throws(X11Error) {
        self.connection = connection
        try readKeys()
        let cursor = try crosshair()
        defer { xcb_free_cursor(connection.raw, cursor) }
        // A key that started this program may be down still.
        let deadline: Instant = MonotonicClock.now() + Self.patience
        while try !grab(cursor) {
            guard MonotonicClock.now() < deadline else { throw .pointerHeld(display: connection.display) }
            MonotonicClock.sleep(for: .milliseconds(20))
        }
    }

    deinit {
        xcb_ungrab_pointer(connection.raw, xcb_timestamp_t(XCB_CURRENT_TIME))
        xcb_ungrab_keyboard(connection.raw, xcb_timestamp_t(XCB_CURRENT_TIME))
        xcb_flush(connection.raw)
    }

    /// The next thing that is done; nil if nothing is by the deadline. Of motions that have come meanwhile, the last one counts.
    package func next(until deadline: Instant) throws(X11Error) -> PickGesture.Input? {
        while true {
            if let input = exchange(&later, with: nil) { return input }
            var motion: PickGesture.Input?
            while let event = xcb_poll_for_event(connection.raw) {
                defer { free(event) }
                guard let input = input(event) else { continue }
                guard case .moved = input else {
                    if motion == nil { return input }
                    later = input
                    return motion
                }
                motion = input
            }
            if let motion { return motion }
            if xcb_connection_has_error(connection.raw) != 0 { throw connection.lost }
            guard waitReadable(connection.fileDescriptor, until: deadline) else { return nil }
        }
    }

    private func input(_ event: UnsafeMutablePointer<xcb_generic_event_t>) -> PickGesture.Input? {
        func button() -> (x: Int, y: Int, detail: UInt8) {
            event.withMemoryRebound(to: xcb_button_press_event_t.self, capacity: 1) {
                (Int($0.pointee.root_x), Int($0.pointee.root_y), $0.pointee.detail)
            }
        }
        let place = button()
        switch Int32(event.pointee.response_type & 0x7F) {
        case XCB_MOTION_NOTIFY: return .moved(x: place.x, y: place.y)
        // The wheel is buttons 4 to 7.
        case XCB_BUTTON_PRESS where place.detail == 1: return .pressed(x: place.x, y: place.y)
        case XCB_BUTTON_RELEASE where place.detail == 1: return .released(x: place.x, y: place.y)
        case XCB_BUTTON_PRESS where place.detail == 3: return .key(.escape)
        case XCB_KEY_PRESS: return .key(keyOfCode[place.detail] ?? .other)
        default: return nil
        }
    }

    private func grab(_ cursor: xcb_cursor_t) throws(X11Error) -> Bool {
        let (raw, root) = (connection.raw, connection.root)
        let mode = UInt8(XCB_GRAB_MODE_ASYNC.rawValue)
        let now = xcb_timestamp_t(XCB_CURRENT_TIME)
        let events =
            XCB_EVENT_MASK_BUTTON_PRESS.rawValue | XCB_EVENT_MASK_BUTTON_RELEASE.rawValue
            | XCB_EVENT_MASK_POINTER_MOTION.rawValue
        let pointer: xcb_grab_pointer_reply_t = try connection.value(
            "GrabPointer",
            xcb_grab_pointer(raw, 0, root, UInt16(events), mode, mode, 0, cursor, now).sequence
        )
        guard UInt32(pointer.status) == XCB_GRAB_STATUS_SUCCESS.rawValue else { return false }
        let keyboard: xcb_grab_keyboard_reply_t = try connection.value(
            "GrabKeyboard",
            xcb_grab_keyboard(raw, 0, root, now, mode, mode).sequence
        )
        if UInt32(keyboard.status) == XCB_GRAB_STATUS_SUCCESS.rawValue { return true }
        xcb_ungrab_pointer(raw, now)
        return false
    }

    /// A cross of the cursor font, which each server has (`XC_crosshair`).
    private func crosshair() throws(X11Error) -> xcb_cursor_t {
        let (raw, font, cursor) = (connection.raw, xcb_generate_id(connection.raw), xcb_generate_id(connection.raw))
        let name = "cursor"
        try connection.check("OpenFont", xcb_open_font_checked(raw, font, UInt16(name.utf8.count), name))
        defer { xcb_close_font(raw, font) }
        let made = xcb_create_glyph_cursor_checked(raw, cursor, font, font, 34, 35, 0, 0, 0, .max, .max, .max)
        try connection.check("CreateGlyphCursor", made)
        return cursor
    }

    private func readKeys() throws(X11Error) {
        let setup = xcb_get_setup(connection.raw)!.pointee
        let count = setup.max_keycode - setup.min_keycode + 1
        let sequence = xcb_get_keyboard_mapping(connection.raw, setup.min_keycode, count).sequence
        let mapping: XReply<xcb_get_keyboard_mapping_reply_t> = try connection.reply("GetKeyboardMapping", sequence)
        let symbols = UnsafeBufferPointer(
            start: xcb_get_keyboard_mapping_keysyms(mapping.pointer),
            count: Int(xcb_get_keyboard_mapping_keysyms_length(mapping.pointer))
        )
        let perCode = max(Int(mapping.value.keysyms_per_keycode), 1)
        for (index, symbol) in symbols.enumerated() {
            guard let key = Self.keys.first(where: { $0.symbol == symbol })?.key else { continue }
            keyOfCode[setup.min_keycode + UInt8(index / perCode)] = key
        }
    }
}

extension XConnection {
    /// The window under the pointer, as `listWindows()` has it, without those that belong to none; nil on the bare screen.
    package func windowUnderPointer() throws(X11Error) -> WindowInfo? {
        let pointer: xcb_query_pointer_reply_t = try value("QueryPointer", xcb_query_pointer(raw, root).sequence)
        guard pointer.child != 0 else { return nil }
        let (x, y) = (Int(pointer.root_x), Int(pointer.root_y))
        for window in try listWindows().reversed() {
            guard window.region.columns.contains(x), window.region.rows.contains(y) else { continue }
            do throws(X11Error) {
                if try topLevel(of: window.id) == pointer.child { return window }
            } catch .requestFailed { continue }
        }
        return nil
    }

    /// The child of the root that a window is in, such as the frame of a window manager.
    private func topLevel(of window: xcb_window_t) throws(X11Error) -> xcb_window_t {
        var (window, above) = (window, try parent(of: window))
        while above != root, above != 0 { (window, above) = (above, try parent(of: above)) }
        return window
    }
}
