import CXCB

/// A window that a person would call one.
package struct WindowInfo: Equatable, Sendable {
    package let id: UInt32
    /// Empty when the program gave it none.
    package let title: String
    /// Its inside, without the frame; may reach beyond the screen.
    package let region: CaptureRegion
}

extension XConnection {
    /// The windows of the window manager's client list; without one, the visible children of the root.
    package func listWindows() throws(X11Error) -> [WindowInfo] {
        let managed = try property(root, named: "_NET_CLIENT_LIST", as: UInt32.self)
        var windows: [WindowInfo] = []
        for id in try managed.isEmpty ? childrenOfRoot() : managed {
            do throws(X11Error) {
                if managed.isEmpty, try !isVisible(id) { continue }
                windows.append(WindowInfo(id: id, title: try title(of: id), region: try region(ofWindow: id)))
            } catch .requestFailed(_, .badWindow), .requestFailed(_, .badDrawable) {
                continue  // closed while we asked
            }
        }
        return windows
    }

    func parent(of window: xcb_window_t) throws(X11Error) -> xcb_window_t {
        try reply("QueryTree", xcb_query_tree(raw, window).sequence, as: xcb_query_tree_reply_t.self).value.parent
    }

    private func childrenOfRoot() throws(X11Error) -> [xcb_window_t] {
        let tree = try reply("QueryTree", xcb_query_tree(raw, root).sequence, as: xcb_query_tree_reply_t.self)
        let children = UnsafeBufferPointer(
            start: xcb_query_tree_children(tree.pointer),
            count: Int(xcb_query_tree_children_length(tree.pointer))
        )
        return Array(children)
    }

    func isVisible(_ window: xcb_window_t) throws(X11Error) -> Bool {
        let attributes = try reply(
            "GetWindowAttributes",
            xcb_get_window_attributes(raw, window).sequence,
            as: xcb_get_window_attributes_reply_t.self
        ).value
        return attributes._class == UInt16(XCB_WINDOW_CLASS_INPUT_OUTPUT.rawValue)
            && attributes.map_state == UInt8(XCB_MAP_STATE_VIEWABLE.rawValue)
    }

    func geometry(of window: xcb_window_t) throws(X11Error) -> xcb_get_geometry_reply_t {
        try reply("GetGeometry", xcb_get_geometry(raw, window).sequence, as: xcb_get_geometry_reply_t.self).value
    }

    func region(ofWindow window: xcb_window_t) throws(X11Error) -> CaptureRegion {
        let geometry = try geometry(of: window)
        let place = try reply(
            "TranslateCoordinates",
            xcb_translate_coordinates(raw, window, root, 0, 0).sequence,
            as: xcb_translate_coordinates_reply_t.self
        ).value
        return CaptureRegion(
            x: Int(place.dst_x),
            y: Int(place.dst_y),
            width: Int(geometry.width),
            height: Int(geometry.height)
        )
    }

    private func title(of window: xcb_window_t) throws(X11Error) -> String {
        let modern = try property(window, named: "_NET_WM_NAME", as: UInt8.self)
        if !modern.isEmpty { return String(decoding: modern, as: UTF8.self) }
        let latin1 = try property(window, named: "WM_NAME", as: UInt8.self)
        return String(String.UnicodeScalarView(latin1.map { Unicode.Scalar($0) }))
    }

    private func atom(_ name: String, isMade: Bool) throws(X11Error) -> xcb_atom_t {
        try reply(
            "InternAtom",
            xcb_intern_atom(raw, isMade ? 0 : 1, UInt16(name.utf8.count), name).sequence,
            as: xcb_intern_atom_reply_t.self
        ).value.atom
    }

    /// The value of a property in items of 8 or 32 bits; empty when it is not set.
    private func property<Item: FixedWidthInteger>(
        _ window: xcb_window_t,
        named name: String,
        as item: Item.Type
    ) throws(X11Error) -> [Item] {
        let atom = try atom(name, isMade: false)
        guard atom != XCB_ATOM_NONE.rawValue else { return [] }
        let words: UInt32 = 65_536
        let answer = try reply(
            "GetProperty",
            xcb_get_property(raw, 0, window, atom, XCB_ATOM_ANY.rawValue, 0, words).sequence,
            as: xcb_get_property_reply_t.self
        )
        guard answer.value.format == UInt8(Item.bitWidth) else { return [] }
        let bytes = UnsafeRawBufferPointer(
            start: xcb_get_property_value(answer.pointer),
            count: Int(xcb_get_property_value_length(answer.pointer))
        )
        return Array(bytes.bindMemory(to: Item.self))
    }

    /// A number that the first who asks leaves on the root window: another one after the server was started again, when
    /// windows of old identifiers are others.
    package func serverMark() throws(X11Error) -> UInt32 {
        let name = "_ORIEL_SERVER"
        if let mark = try property(root, named: name, as: UInt32.self).first { return mark }
        var mark = UInt32.random(in: .min ... .max)
        let mode = UInt8(XCB_PROP_MODE_REPLACE.rawValue)
        let atom = try atom(name, isMade: true)
        xcb_change_property(raw, mode, root, atom, XCB_ATOM_CARDINAL.rawValue, 32, 1, &mark)
        return try property(root, named: name, as: UInt32.self).first ?? mark
    }
}
