import CXCB
package import Pixels

/// Asks the server to report drawing on the screen, with its place. Damage is a hint: compare pixels to be sure.
///
/// After damage was taken, the first drawing makes `drainEvents()` report `.damaged`, once. So take damage before each
/// grab: drawing during the grab is then reported again. A new monitor reports the whole screen as damaged.
package final class DamageMonitor {
    private let connection: XConnection
    private let damage: xcb_damage_damage_t
    private let taken: xcb_xfixes_region_t
    private let isOfScreen: Bool

    /// Nil if the server lacks the extension: then grab at every tick.
    ///
    /// - Parameter source: a window has its own damage, even where it is covered. Any other source has that of the
    ///   screen.
    package init?(connection: XConnection, source: CaptureSource = .screen) throws(X11Error) {
        guard connection.extensions.damage != nil, connection.extensions.fixes != nil else { return nil }
        damage = xcb_generate_id(connection.raw)
        taken = xcb_generate_id(connection.raw)
        self.connection = connection
        let window: xcb_window_t? = if case .window(let window, _) = source { window } else { nil }
        isOfScreen = window == nil
        // At this level there is one event until the damage is taken, however much is drawn.
        let level = UInt8(XCB_DAMAGE_REPORT_LEVEL_NON_EMPTY.rawValue)
        try connection.check(
            "DamageCreate",
            xcb_damage_create_checked(connection.raw, damage, window ?? connection.root, level)
        )
        try connection.check("XFixesCreateRegion", xcb_xfixes_create_region_checked(connection.raw, taken, 0, nil))
    }

    deinit {
        xcb_xfixes_destroy_region(connection.raw, taken)
        xcb_damage_destroy(connection.raw, damage)
    }

    /// Takes the damage so far, and adds the damaged tiles.
    ///
    /// - Parameters:
    ///   - tiles: of the picture that shows `region`.
    ///   - region: in pixels of the screen.
    package func take(addingTo tiles: inout BlockSet, of region: PixelRect) throws(X11Error) {
        xcb_damage_subtract(connection.raw, damage, xcb_xfixes_region_t(0), taken)
        let sequence = xcb_xfixes_fetch_region(connection.raw, taken).sequence
        let answer: XReply<xcb_xfixes_fetch_region_reply_t> = try connection.reply("XFixesFetchRegion", sequence)
        let rectangles = UnsafeBufferPointer(
            start: xcb_xfixes_fetch_region_rectangles(answer.pointer),
            count: Int(xcb_xfixes_fetch_region_rectangles_length(answer.pointer))
        )
        let origin = isOfScreen ? (x: region.x, y: region.y) : (x: 0, y: 0)
        for rectangle in rectangles {
            let (width, height) = (rectangle.width, rectangle.height)
            let place = PixelRect(x: rectangle.x, y: rectangle.y, width: width, height: height)
            tiles.insert(place.moved(x: -origin.x, y: -origin.y))
        }
    }
}
