import CXCB
import Glibc

/// A display's screen, covered by one window of ours.
final class Screen {
    let raw: OpaquePointer
    let width: Int
    let height: Int
    let format: PixelFormat
    let font: Font
    /// The window, to draw on.
    private(set) var window: Canvas!
    private let info: xcb_screen_t

    init(display: String?) throws(WorkloadError) {
        var number: Int32 = 0
        raw = xcb_connect(display, &number)
        guard xcb_connection_has_error(raw) == 0 else {
            throw .cannotConnect(display ?? "of the environment variable DISPLAY")
        }
        var screens = xcb_setup_roots_iterator(xcb_get_setup(raw))
        for _ in 0..<number { xcb_screen_next(&screens) }
        info = screens.data.pointee
        width = Int(info.width_in_pixels)
        height = Int(info.height_in_pixels)
        format = try PixelFormat(xcb_get_setup(raw), screens.data)
        font = try Font(raw, preferred: ["9x15", "fixed"])
        window = Canvas(screen: self, drawable: makeWindow(), width: width, height: height)
        try synchronize()
    }

    /// The root window.
    var root: xcb_window_t { info.root }

    deinit { xcb_disconnect(raw) }

    /// A picture that is kept by the server.
    func makePixmap(width: Int, height: Int) -> Canvas {
        let pixmap = xcb_generate_id(raw)
        xcb_create_pixmap(raw, info.root_depth, pixmap, info.root, UInt16(width), UInt16(height))
        return Canvas(screen: self, drawable: pixmap, width: width, height: height)
    }

    /// Shows a whole picture at once, and again whenever the window was hidden.
    func show(_ picture: Canvas) throws(WorkloadError) {
        var pixmap = picture.drawable
        xcb_change_window_attributes(raw, window.drawable, XCB_CW_BACK_PIXMAP.rawValue, &pixmap)
        xcb_clear_area(raw, 0, window.drawable, 0, 0, 0, 0)
        try synchronize()
    }

    func flush() throws(WorkloadError) {
        if xcb_flush(raw) <= 0 { throw .connectionLost }
        while let event = xcb_poll_for_event(raw) { free(event) }
    }

    /// Waits until the server has drawn everything.
    func synchronize() throws(WorkloadError) {
        guard let reply = xcb_get_input_focus_reply(raw, xcb_get_input_focus(raw), nil) else { throw .connectionLost }
        free(reply)
        while let event = xcb_poll_for_event(raw) { free(event) }
    }

    private func makeWindow() -> xcb_window_t {
        let window = xcb_generate_id(raw)
        var overrideRedirect: UInt32 = 1
        xcb_create_window(
            raw,
            info.root_depth,
            window,
            info.root,
            0,
            0,
            UInt16(width),
            UInt16(height),
            0,
            UInt16(XCB_WINDOW_CLASS_INPUT_OUTPUT.rawValue),
            info.root_visual,
            XCB_CW_OVERRIDE_REDIRECT.rawValue,
            &overrideRedirect
        )
        let title = "workload"
        xcb_change_property(
            raw,
            UInt8(XCB_PROP_MODE_REPLACE.rawValue),
            window,
            XCB_ATOM_WM_NAME.rawValue,
            XCB_ATOM_STRING.rawValue,
            8,
            UInt32(title.utf8.count),
            title
        )
        xcb_map_window(raw, window)
        return window
    }
}

/// A fixed-width font of the server.
struct Font {
    let id: xcb_font_t
    let cellWidth: Int
    let cellHeight: Int
    let ascent: Int

    init(_ raw: OpaquePointer, preferred names: [String]) throws(WorkloadError) {
        for name in names {
            let id = xcb_generate_id(raw)
            xcb_open_font(raw, id, UInt16(name.utf8.count), name)
            guard let reply = xcb_query_font_reply(raw, xcb_query_font(raw, id), nil) else { continue }
            defer { free(reply) }
            self.id = id
            cellWidth = Int(reply.pointee.max_bounds.character_width)
            ascent = Int(reply.pointee.font_ascent)
            cellHeight = ascent + Int(reply.pointee.font_descent)
            return
        }
        throw .noFont
    }
}
