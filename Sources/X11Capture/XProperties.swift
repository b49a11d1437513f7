import CXCB

/// Names that the server keeps as numbers, and the values that it keeps for windows.
extension XConnection {
    func atomName(_ atom: xcb_atom_t) throws(X11Error) -> String {
        let answer = try reply(
            "GetAtomName",
            xcb_get_atom_name(raw, atom).sequence,
            as: xcb_get_atom_name_reply_t.self
        )
        let bytes = UnsafeRawBufferPointer(
            start: xcb_get_atom_name_name(answer.pointer),
            count: Int(xcb_get_atom_name_name_length(answer.pointer))
        )
        return String(decoding: bytes, as: UTF8.self)
    }

    private func atom(_ name: String, isMade: Bool) throws(X11Error) -> xcb_atom_t {
        try reply(
            "InternAtom",
            xcb_intern_atom(raw, isMade ? 0 : 1, UInt16(name.utf8.count), name).sequence,
            as: xcb_intern_atom_reply_t.self
        ).value.atom
    }

    /// The value of a property in items of 8 or 32 bits; empty when it is not set.
    func property<Item: FixedWidthInteger>(
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
