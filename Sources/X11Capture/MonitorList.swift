import CXCB
package import Pixels

/// A monitor that can be shared.
package struct MonitorInfo: Equatable, Sendable {
    /// Its name in RandR, such as `HDMI-1`.
    package let name: String
    package let region: PixelRect
    package let isPrimary: Bool
}

extension XConnection {
    /// The active monitors, in the server's order. Throws `.extensionMissing` below RandR 1.5.
    package func listMonitors() throws(X11Error) -> [MonitorInfo] {
        guard let randr = extensions.randr, randr.version >= (1, 5) else {
            throw .extensionMissing(name: "RandR", version: "1.5")
        }
        let sequence = xcb_randr_get_monitors(raw, root, 1).sequence
        let answer: XReply<xcb_randr_get_monitors_reply_t> = try reply("RRGetMonitors", sequence)
        var monitors: [MonitorInfo] = []
        var iterator = xcb_randr_get_monitors_monitors_iterator(answer.pointer)
        while iterator.rem > 0 {
            let monitor = iterator.data.pointee
            monitors.append(
                MonitorInfo(
                    name: try atomName(monitor.name),
                    region: PixelRect(x: monitor.x, y: monitor.y, width: monitor.width, height: monitor.height),
                    isPrimary: monitor.primary != 0
                )
            )
            xcb_randr_monitor_info_next(&iterator)
        }
        return monitors
    }
}
