import CXCB

/// Atoms, and the properties of windows.
extension XConnection {
    func atomName(_ atom: xcb_atom_t) throws(X11Error) -> String {
        let answer: XReply<xcb_get_atom_name_reply_t> = try reply("GetAtomName", xcb_get_atom_name(raw, atom).sequence)
        let bytes = UnsafeRawBufferPointer(
            start: xcb_get_atom_name_name(answer.pointer),
            count: Int(xcb_get_atom_name_name_length(answer.pointer))
        )
        return String(decoding: bytes, as: UTF8.self)
    }

    private func atom(_ name: String, isMade: Bool) throws(X11Error) -> xcb_atom_t {
        let sequence = xcb_intern_atom(raw, isMade ? 0 : 1, UInt16(name.utf8.count), name).sequence
        let answer: xcb_intern_atom_reply_t = try value("InternAtom", sequence)
        return answer.atom
    }

    /// The value of a property in items of 8 or 32 bits; empty if it is not set.
    func property<Item: FixedWidthInteger>(
        _ window: xcb_window_t,
        named name: String,
        as item: Item.Type
    ) throws(X11Error) -> [Item] {
        let atom = try atom(name, isMade: false)
        guard atom != XCB_ATOM_NONE.rawValue else { return [] }
        let sequence = xcb_get_property(raw, 0, window, atom, XCB_ATOM_ANY.rawValue, 0, 65_536).sequence
        let answer: XReply<xcb_get_property_reply_t> = try reply("GetProperty", sequence)
        guard answer.value.format == UInt8(Item.bitWidth) else { return [] }
        let bytes = UnsafeRawBufferPointer(
            start: xcb_get_property_value(answer.pointer),
            count: Int(xcb_get_property_value_length(answer.pointer))
        )
        return Array(bytes.bindMemory(to: Item.self))
    }

    /// Returns the source, a window with its mark: a random number in a property of the window, which is set if it is
    /// missing. The window's identifier may later be another window's, even after a restart of the X server. Throws
    /// `.noWindow`.
    package func marked(_ source: CaptureSource) throws(X11Error) -> CaptureSource {
        guard case .window(let window, nil) = source else { return source }
        do throws(X11Error) {
            if let mark = try mark(of: window) { return .window(window, mark: mark) }
            let atom = try atom(Self.markName, isMade: true)
            let mode = UInt8(XCB_PROP_MODE_REPLACE.rawValue)
            let halves: [UInt32] = [.random(in: .min ... .max), .random(in: .min ... .max)]
            try check(
                "ChangeProperty",
                xcb_change_property_checked(raw, mode, window, atom, XCB_ATOM_CARDINAL.rawValue, 32, 2, halves)
            )
            // Another process may have set another mark meanwhile.
            guard let mark = try mark(of: window) else { throw X11Error.noWindow(window) }
            return .window(window, mark: mark)
        } catch .requestFailed(_, .badWindow) {
            throw .noWindow(window)
        }
    }

    private static let markName = "_ORIEL_WINDOW"

    func mark(of window: xcb_window_t) throws(X11Error) -> UInt64? {
        let halves = try property(window, named: Self.markName, as: UInt32.self)
        return halves.count == 2 ? UInt64(halves[0]) << 32 | UInt64(halves[1]) : nil
    }
}
