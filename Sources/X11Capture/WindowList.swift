import CXCB
package import Pixels

/// A window from a person's view: one of the window manager's, or of the root's visible children.
package struct WindowInfo: Equatable, Sendable {
    package let id: UInt32
    /// Empty if the program gave it none.
    package let title: String
    /// Its inside, without the frame; may reach beyond the screen.
    package let region: PixelRect
}

extension XConnection {
    /// The windows of the window manager's client list, or without one the visible children of the root.
    package func listWindows() throws(X11Error) -> [WindowInfo] {
        let managed = try hasWindowManager() ? property(root, named: "_NET_CLIENT_LIST", as: UInt32.self) : []
        var windows: [WindowInfo] = []
        for id in try managed.isEmpty ? childrenOfRoot() : managed {
            do throws(X11Error) {
                if managed.isEmpty, try !isVisible(id) { continue }
                windows.append(WindowInfo(id: id, title: try title(of: id), region: try region(ofWindow: id)))
            } catch .requestFailed(_, .badWindow), .requestFailed(_, .badDrawable) {
                // The window was closed meanwhile.
                continue
            }
        }
        return windows
    }

    /// Whether there is a live window manager. A dead one leaves its properties, with a list that nobody updates. But
    /// the window that named it is gone, or belongs to another client (EWMH 1.5 §3, `_NET_SUPPORTING_WM_CHECK`).
    private func hasWindowManager() throws(X11Error) -> Bool {
        let check = "_NET_SUPPORTING_WM_CHECK"
        guard let window = try property(root, named: check, as: UInt32.self).first else { return false }
        do throws(X11Error) {
            return try property(window, named: check, as: UInt32.self).first == window
        } catch .requestFailed(_, .badWindow) { return false }
    }

    func parent(of window: xcb_window_t) throws(X11Error) -> xcb_window_t {
        let tree: xcb_query_tree_reply_t = try value("QueryTree", xcb_query_tree(raw, window).sequence)
        return tree.parent
    }

    private func childrenOfRoot() throws(X11Error) -> [xcb_window_t] {
        let tree: XReply<xcb_query_tree_reply_t> = try reply("QueryTree", xcb_query_tree(raw, root).sequence)
        let children = UnsafeBufferPointer(
            start: xcb_query_tree_children(tree.pointer),
            count: Int(xcb_query_tree_children_length(tree.pointer))
        )
        return Array(children)
    }

    func isVisible(_ window: xcb_window_t) throws(X11Error) -> Bool {
        let attributes = try attributes(of: window)
        return attributes._class == UInt16(XCB_WINDOW_CLASS_INPUT_OUTPUT.rawValue)
            && attributes.map_state == UInt8(XCB_MAP_STATE_VIEWABLE.rawValue)
    }

    func geometry(of window: xcb_window_t) throws(X11Error) -> xcb_get_geometry_reply_t {
        try value("GetGeometry", xcb_get_geometry(raw, window).sequence)
    }

    func attributes(of window: xcb_window_t) throws(X11Error) -> xcb_get_window_attributes_reply_t {
        try value("GetWindowAttributes", xcb_get_window_attributes(raw, window).sequence)
    }

    func region(ofWindow window: xcb_window_t) throws(X11Error) -> PixelRect {
        let geometry = try geometry(of: window)
        let sequence = xcb_translate_coordinates(raw, window, root, 0, 0).sequence
        let place: xcb_translate_coordinates_reply_t = try value("TranslateCoordinates", sequence)
        return PixelRect(x: place.dst_x, y: place.dst_y, width: geometry.width, height: geometry.height)
    }

    private func title(of window: xcb_window_t) throws(X11Error) -> String {
        let modern = try property(window, named: "_NET_WM_NAME", as: UInt8.self)
        if !modern.isEmpty { return String(decoding: modern, as: UTF8.self) }
        let latin1 = try property(window, named: "WM_NAME", as: UInt8.self)
        return String(String.UnicodeScalarView(latin1.map { Unicode.Scalar($0) }))
    }
}
