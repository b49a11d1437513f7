import CXCB
import Glibc
package import Pixels

/// The reason why there is no window, or no more.
package enum PictureWindowError: Error, Equatable, CustomStringConvertible {
    case cannotConnect(display: String)
    case connectionLost(display: String)
    /// Its pixels are not 32 bits of blue, green and red.
    case unsupportedScreen(display: String)

    package var description: String {
        switch self {
        case .cannotConnect(let display): "no X server on \(display): check DISPLAY"
        case .connectionLost(let display): "the connection to the X server \(display) is lost"
        case .unsupportedScreen(let display):
            "the X server \(display) has pixels of a kind that no window of Oriel has: choose one of depth 24"
        }
    }
}

/// A window on an X server that shows pictures, scaled to its size. One thread uses it.
package final class PictureWindow {
    private let display: String
    private let connection: OpaquePointer
    private let window: xcb_window_t
    private let context: xcb_gcontext_t
    private let depth: UInt8
    private let deleteWindow: xcb_atom_t
    /// In pixels, at least 2, and at most the largest picture.
    private var size: PixelSize
    private var hasShown = false
    package private(set) var isClosed = false
    /// The latest picture, and its scaling to the window.
    private var picture = NV12Picture(size: PixelSize(width: 2, height: 2))
    private var scaled = NV12Picture(size: PixelSize(width: 2, height: 2))
    private var rescaler: Rescaler?
    private var pixels: [UInt8] = []

    /// The size of a new window. A larger picture is scaled down.
    private static let firstSize = PixelSize(width: 1280, height: 720)

    /// Connects to the X server in DISPLAY. The window appears with the first picture.
    ///
    /// - Parameter title: shown by the window manager.
    package init(title: String) throws(PictureWindowError) {
        display = getenv("DISPLAY").map { String(cString: $0) } ?? ""
        var number: Int32 = 0
        // Never nil: a failed connection reports an error.
        connection = xcb_connect(nil, &number)
        guard xcb_connection_has_error(connection) == 0 else {
            xcb_disconnect(connection)
            throw .cannotConnect(display: display.isEmpty ? "an unnamed display" : display)
        }
        var screens = xcb_setup_roots_iterator(xcb_get_setup(connection))
        for _ in 0..<number { xcb_screen_next(&screens) }
        let screen = screens.data.pointee
        guard Self.isBGRX(screens.data, xcb_get_setup(connection)) else {
            xcb_disconnect(connection)
            throw .unsupportedScreen(display: display)
        }
        depth = screen.root_depth
        size = Self.firstSize
        window = xcb_generate_id(connection)
        context = xcb_generate_id(connection)
        deleteWindow = Self.atom("WM_DELETE_WINDOW", connection)
        let protocols = Self.atom("WM_PROTOCOLS", connection)
        let events =
            XCB_EVENT_MASK_EXPOSURE.rawValue | XCB_EVENT_MASK_STRUCTURE_NOTIFY.rawValue
        let values = [screen.black_pixel, events]
        xcb_create_window(
            connection,
            depth,
            window,
            screen.root,
            0,
            0,
            UInt16(size.width),
            UInt16(size.height),
            0,
            UInt16(XCB_WINDOW_CLASS_INPUT_OUTPUT.rawValue),
            screen.root_visual,
            XCB_CW_BACK_PIXEL.rawValue | XCB_CW_EVENT_MASK.rawValue,
            values
        )
        xcb_create_gc(connection, context, window, 0, nil)
        set(protocols, as: XCB_ATOM_ATOM.rawValue, 32, [deleteWindow])
        set(Self.atom("_NET_WM_NAME", connection), as: Self.atom("UTF8_STRING", connection), 8, Array(title.utf8))
        set(XCB_ATOM_WM_NAME.rawValue, as: XCB_ATOM_STRING.rawValue, 8, Array(title.utf8))
        set(XCB_ATOM_WM_CLASS.rawValue, as: XCB_ATOM_STRING.rawValue, 8, Array("oriel\0Oriel\0".utf8))
        xcb_flush(connection)
    }

    deinit { xcb_disconnect(connection) }

    /// Readable when `handleEvents` may have events. Owned by the window.
    package var fileDescriptor: Int32 { xcb_get_file_descriptor(connection) }

    // MARK: - Pictures

    package func show(_ picture: consuming NV12Picture) {
        self.picture = picture
        if !hasShown {
            hasShown = true
            resize(to: self.picture.size)
            xcb_map_window(connection, window)
        }
        draw()
    }

    /// Gives the window the size of its first picture, scaled down to fit into `firstSize`.
    private func resize(to picture: PixelSize) {
        size =
            PixelRect.letterbox(
                picture,
                in: PixelSize(
                    width: min(picture.width, Self.firstSize.width),
                    height: min(picture.height, Self.firstSize.height)
                )
            ).size
        let values = [UInt32(size.width), UInt32(size.height)]
        let mask = XCB_CONFIG_WINDOW_WIDTH.rawValue | XCB_CONFIG_WINDOW_HEIGHT.rawValue
        xcb_configure_window(connection, window, UInt16(mask), values)
    }

    private func draw() {
        guard hasShown else { return }
        if scaled.size != size || rescaler?.output != size || rescaler?.input != picture.size {
            scaled = NV12Picture(size: size)
            rescaler = Rescaler(from: picture.size, to: size)
            pixels = Array(repeating: 0, count: 4 * size.width * size.height)
        }
        picture.withPlanes { luma, chroma in
            rescaler!.rescale(luma: luma, chroma: chroma, layout: picture.layout, into: &scaled)
        }
        convertToBGRX(scaled, into: &pixels)
        put()
    }

    /// Sends the pixels in pieces of whole rows: the length of a request is limited.
    private func put() {
        let bytesPerRow = 4 * size.width
        let room = Int(xcb_get_maximum_request_length(connection)) * 4 - 64
        let rows = max(1, min(size.height, room / bytesPerRow))
        for start in stride(from: 0, to: size.height, by: rows) {
            let count = min(rows, size.height - start)
            _ = pixels.withUnsafeBytes { bytes in
                xcb_put_image(
                    connection,
                    UInt8(XCB_IMAGE_FORMAT_Z_PIXMAP.rawValue),
                    window,
                    context,
                    UInt16(size.width),
                    UInt16(count),
                    0,
                    Int16(start),
                    0,
                    depth,
                    UInt32(count * bytesPerRow),
                    bytes.baseAddress!.advanced(by: start * bytesPerRow).assumingMemoryBound(to: UInt8.self)
                )
            }
        }
        xcb_flush(connection)
    }

    // MARK: - Events

    package func handleEvents() throws(PictureWindowError) {
        var event = xcb_poll_for_event(connection)
        while event != nil {
            var mustDraw = false
            while let next = event {
                handle(next, mustDraw: &mustDraw)
                free(next)
                event = xcb_poll_for_event(connection)
            }
            if mustDraw, !isClosed { draw() }
            // Writing a picture reads events too. The descriptor does not report those.
            event = xcb_poll_for_queued_event(connection)
        }
        if xcb_connection_has_error(connection) != 0 { throw .connectionLost(display: display) }
    }

    private func handle(_ event: UnsafeMutablePointer<xcb_generic_event_t>, mustDraw: inout Bool) {
        switch Int32(event.pointee.response_type & 0x7F) {
        case XCB_EXPOSE: mustDraw = true
        case XCB_CONFIGURE_NOTIFY:
            event.withMemoryRebound(to: xcb_configure_notify_event_t.self, capacity: 1) {
                size = Self.size(Int($0.pointee.width), Int($0.pointee.height))
            }
            mustDraw = true
        case XCB_CLIENT_MESSAGE:
            event.withMemoryRebound(to: xcb_client_message_event_t.self, capacity: 1) {
                if $0.pointee.data.data32.0 == deleteWindow { isClosed = true }
            }
        case XCB_DESTROY_NOTIFY: isClosed = true
        default: break
        }
    }

    /// The size of the drawing in a window: even.
    private static func size(_ width: Int, _ height: Int) -> PixelSize {
        PixelSize(width: max(width & ~1, 2), height: max(height & ~1, 2))
    }

    // MARK: - The server

    private func set<Value: BitwiseCopyable>(
        _ property: xcb_atom_t,
        as type: xcb_atom_t,
        _ bits: UInt8,
        _ values: [Value]
    ) {
        let mode = UInt8(XCB_PROP_MODE_REPLACE.rawValue)
        xcb_change_property(connection, mode, window, property, type, bits, UInt32(values.count), values)
    }

    /// 0 if the connection is lost.
    private static func atom(_ name: String, _ connection: OpaquePointer) -> xcb_atom_t {
        let cookie = xcb_intern_atom(connection, 0, UInt16(name.utf8.count), name)
        guard let reply = xcb_intern_atom_reply(connection, cookie, nil) else { return 0 }
        defer { free(reply) }
        return reply.pointee.atom
    }

    private static func isBGRX(_ screen: UnsafePointer<xcb_screen_t>, _ setup: UnsafePointer<xcb_setup_t>) -> Bool {
        guard setup.pointee.image_byte_order == XCB_IMAGE_ORDER_LSB_FIRST.rawValue,
            oriel_xcb_format(setup, screen.pointee.root_depth)?.pointee.bits_per_pixel == 32,
            let visual = oriel_xcb_visual(screen, screen.pointee.root_visual)?.pointee
        else { return false }
        return (visual.red_mask, visual.green_mask, visual.blue_mask) == (0xFF0000, 0xFF00, 0xFF)
    }
}
