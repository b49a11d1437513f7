import CXCB

/// Asks the server to tell when anything on the screen was drawn. A hint: compare pixels to be sure.
///
/// After `acknowledge()` the first drawing makes `drainEvents()` report `.damaged`, once; so acknowledge before each
/// grab, and what is drawn during the grab is reported again. A new monitor reports the whole screen as damaged.
package final class DamageMonitor {
    private let connection: XConnection
    private let damage: xcb_damage_damage_t

    /// Nil when the server lacks the extension: then grab at every tick.
    package init?(connection: XConnection) throws(X11Error) {
        guard connection.extensions.damage != nil else { return nil }
        damage = xcb_generate_id(connection.raw)
        self.connection = connection
        let level = UInt8(XCB_DAMAGE_REPORT_LEVEL_NON_EMPTY.rawValue)
        try connection.check(
            "DamageCreate",
            xcb_damage_create_checked(connection.raw, damage, connection.root, level)
        )
    }

    deinit { xcb_damage_destroy(connection.raw, damage) }

    /// Forgets the damage so far. Costs no round trip.
    package func acknowledge() {
        let everything = xcb_xfixes_region_t(0)
        xcb_damage_subtract(connection.raw, damage, everything, everything)
        xcb_flush(connection.raw)
    }
}
