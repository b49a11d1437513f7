import CXCB
import Glibc

/// The kinds of events since the last call.
package struct XEvents: OptionSet, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// There was drawing (`DamageMonitor`).
    package static let damaged = XEvents(rawValue: 1)
    /// A change of the screen, a monitor, their arrangement, or a shared window.
    package static let geometryChanged = XEvents(rawValue: 2)
    /// The pointer's image has changed (`CursorTracker`).
    package static let cursorChanged = XEvents(rawValue: 4)
    /// The pointer has moved (`CursorTracker`).
    package static let pointerMoved = XEvents(rawValue: 8)

    // Option-set literals would allocate an array for each test.

    package var concernPicture: Bool { contains(.damaged) || contains(.geometryChanged) }
    /// Whether the pointer may have moved or changed its image.
    package var concernPointer: Bool { contains(.pointerMoved) || contains(.cursorChanged) }
}

extension XConnection {
    /// Reads all waiting events without blocking, and returns their kinds. Throws `.connectionLost`.
    package func drainEvents() throws(X11Error) -> XEvents {
        var seen = XEvents()
        while let event = xcb_poll_for_event(raw) {
            seen.formUnion(meaning(of: event))
            free(event)
        }
        if xcb_connection_has_error(raw) != 0 { throw lost }
        if seen.contains(.geometryChanged) { geometrySerial += 1 }
        return seen
    }

    func selectGeometryEvents() throws(X11Error) {
        var mask = XCB_EVENT_MASK_STRUCTURE_NOTIFY.rawValue
        try check(
            "ChangeWindowAttributes",
            xcb_change_window_attributes_checked(raw, root, XCB_CW_EVENT_MASK.rawValue, &mask)
        )
        guard let randr = extensions.randr, randr.version >= (1, 2) else { return }
        let events =
            XCB_RANDR_NOTIFY_MASK_SCREEN_CHANGE.rawValue | XCB_RANDR_NOTIFY_MASK_CRTC_CHANGE.rawValue
            | XCB_RANDR_NOTIFY_MASK_OUTPUT_CHANGE.rawValue
        try check("RRSelectInput", xcb_randr_select_input_checked(raw, root, UInt16(events)))
    }

    private func meaning(of event: UnsafeMutablePointer<xcb_generic_event_t>) -> XEvents {
        let type = event.pointee.response_type & 0x7f
        switch Int32(type) {
        case XCB_CONFIGURE_NOTIFY, XCB_MAP_NOTIFY, XCB_UNMAP_NOTIFY, XCB_REPARENT_NOTIFY, XCB_DESTROY_NOTIFY:
            return .geometryChanged
        default: break
        }
        if let first = extensions.damage?.firstEvent, type == first + UInt8(XCB_DAMAGE_NOTIFY) { return .damaged }
        if let first = extensions.fixes?.firstEvent, type == first + UInt8(XCB_XFIXES_CURSOR_NOTIFY) {
            return .cursorChanged
        }
        if let first = extensions.randr?.firstEvent,
            type == first + UInt8(XCB_RANDR_SCREEN_CHANGE_NOTIFY) || type == first + UInt8(XCB_RANDR_NOTIFY)
        {
            return .geometryChanged
        }
        if type == XCB_GE_GENERIC, let input = extensions.input {
            return event.withMemoryRebound(to: xcb_ge_generic_event_t.self, capacity: 1) {
                let isMotion = $0.pointee.event_type == XCB_INPUT_RAW_MOTION
                return $0.pointee.extension == input.opcode && isMotion ? .pointerMoved : XEvents()
            }
        }
        return XEvents()
    }
}
