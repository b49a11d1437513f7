import CXCB
import Pixels

/// The place of a source, and of its pixels.
struct Placement {
    /// On the screen.
    let region: PixelRect
    /// The bits of RandR's ROTATION.
    let rotation: UInt16
    /// The drawable with the pixels: the root window, or the pixmap of a window.
    let drawable: xcb_drawable_t
    /// The region's top left corner in the drawable.
    let x: Int, y: Int
    /// Owns the drawable if it is a pixmap.
    let pixmap: WindowPixmap?
}

/// The redirected pixels of a window, even where it is covered. The server keeps them until they are released, also
/// after a change of the window's size has given it others.
final class WindowPixmap {
    let id: xcb_pixmap_t
    private let connection: XConnection

    /// Throws `.requestFailed` with `badMatch` if the window is not shown.
    init(of window: xcb_window_t, connection: XConnection) throws(X11Error) {
        id = xcb_generate_id(connection.raw)
        self.connection = connection
        try connection.check(
            "CompositeNameWindowPixmap",
            xcb_composite_name_window_pixmap_checked(connection.raw, window, id)
        )
    }

    deinit { xcb_free_pixmap(connection.raw, id) }
}

extension XConnection {
    /// Makes a window's pixels readable even where it is covered, and asks for events of its moves, sizes and end.
    /// Lasts as long as the connection, or until the window is too large.
    func redirect(_ window: xcb_window_t) throws(X11Error) {
        guard !redirected.contains(window) else { return }
        guard let composite = extensions.composite, composite.version >= (0, 2) else {
            throw .extensionMissing(name: "Composite", version: "0.2")
        }
        do throws(X11Error) {
            try requirePixmapSize(geometry(of: window), of: window)
            var mask = XCB_EVENT_MASK_STRUCTURE_NOTIFY.rawValue
            try check(
                "ChangeWindowAttributes",
                xcb_change_window_attributes_checked(raw, window, XCB_CW_EVENT_MASK.rawValue, &mask)
            )
            let way = UInt8(XCB_COMPOSITE_REDIRECT_AUTOMATIC.rawValue)
            try check("CompositeRedirectWindow", xcb_composite_redirect_window_checked(raw, window, way))
            redirected.insert(window)
        } catch .requestFailed(_, .badWindow), .requestFailed(_, .badDrawable) {
            throw .noWindow(window)
        }
    }

    /// Lets the server drop its copy of the window's pixels, unless another client wants it.
    private func unredirect(_ window: xcb_window_t) {
        guard redirected.remove(window) != nil else { return }
        xcb_composite_unredirect_window(raw, window, UInt8(XCB_COMPOSITE_REDIRECT_AUTOMATIC.rawValue))
        // At once: the server refuses its owner a size whose pixels it could not keep.
        xcb_flush(raw)
    }

    /// Throws for a window that is too large for a pixmap. X.Org's server crashes if such a window is redirected.
    private func requirePixmapSize(_ geometry: xcb_get_geometry_reply_t, of window: xcb_window_t) throws(X11Error) {
        let size = geometry.sizeWithBorder
        guard max(size.width, size.height) <= Self.longestPixmapSide, size.width * size.height <= Self.mostPixmapPixels
        else {
            throw .windowTooLarge(window, PixelSize(width: Int(geometry.width), height: Int(geometry.height)))
        }
    }

    /// The limit of X.Org's server (`ProcCreatePixmap`).
    private static let longestPixmapSide = 32_767
    /// Pixels of 1 GiB: this process holds three times as much.
    private static let mostPixmapPixels = 1 << 28

    /// The present place of a source. Throws as `region(of:)` does.
    func place(_ source: CaptureSource) throws(X11Error) -> Placement {
        if case .window(let window, let mark) = source { return try place(window, mark) }
        let region = try region(of: source)
        return Placement(
            region: region,
            rotation: try rotation(of: region),
            drawable: root,
            x: region.x,
            y: region.y,
            pixmap: nil
        )
    }

    private func place(_ window: xcb_window_t, _ mark: UInt64?) throws(X11Error) -> Placement {
        do throws(X11Error) {
            try watchAncestors(of: window)
            let pixmap = try pixmap(of: window)
            let region = try regionOfShownWindow(window)
            let border = Int(try geometry(of: window).border_width)
            // The mark is read last. So it belongs to the window whose geometry and pixmap were just read.
            if let mark, try self.mark(of: window) != mark { throw X11Error.noWindow(window) }
            return Placement(
                region: region,
                rotation: try rotation(of: region),
                drawable: pixmap.id,
                x: border,
                y: border,
                pixmap: pixmap
            )
        } catch .requestFailed(_, .badMatch) {
            throw .windowHidden(window)
        } catch .requestFailed(_, .badWindow), .requestFailed(_, .badDrawable) {
            throw .noWindow(window)
        }
    }

    /// The pixels of a window. Throws `.windowTooLarge` if no pixmap can hold them. The server then need not keep them.
    private func pixmap(of window: xcb_window_t) throws(X11Error) -> WindowPixmap {
        for isRepeated in [false, true, true] {
            let geometry = try geometry(of: window)
            do throws(X11Error) { try requirePixmapSize(geometry, of: window) } catch {
                unredirect(window)
                throw error
            }
            try redirect(window)
            let pixmap = try WindowPixmap(of: window, connection: self)
            // A window that was too large when it was shown has no pixels of its own, even when it is smaller again:
            // X.Org's server then gives those of the screen.
            if try self.geometry(of: pixmap.id).sizeWithBorder == geometry.sizeWithBorder { return pixmap }
            if isRepeated { unredirect(window) }
        }
        throw .windowHidden(window)
    }

    /// A window is hidden together with its ancestors, and gets other memory when it is shown again. Only the
    /// ancestor's events report that.
    private func watchAncestors(of window: xcb_window_t) throws(X11Error) {
        var ancestor = try parent(of: window)
        while ancestor != root, ancestor != XCB_WINDOW_NONE.rawValue {
            var mask = XCB_EVENT_MASK_STRUCTURE_NOTIFY.rawValue
            xcb_change_window_attributes(raw, ancestor, XCB_CW_EVENT_MASK.rawValue, &mask)
            ancestor = try parent(of: ancestor)
        }
    }

    /// The inside of a shown window, in pixels of the screen.
    func regionOfShownWindow(_ window: xcb_window_t) throws(X11Error) -> PixelRect {
        do throws(X11Error) {
            guard try isVisible(window) else { throw .windowHidden(window) }
            return try region(ofWindow: window)
        } catch .requestFailed(_, .badWindow), .requestFailed(_, .badDrawable) {
            throw .noWindow(window)
        }
    }
}

extension xcb_get_geometry_reply_t {
    fileprivate var sizeWithBorder: PixelSize {
        PixelSize(width: Int(width) + 2 * Int(border_width), height: Int(height) + 2 * Int(border_width))
    }
}
