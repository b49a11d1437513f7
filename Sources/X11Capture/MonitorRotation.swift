import CXCB
import Pixels

extension XConnection {
    /// How the monitor that shows most of a region is turned and mirrored: the bits of RandR's ROTATION (RandR 1.2 §6).
    /// Without RandR 1.3, those of an upright monitor.
    func rotation(of region: PixelRect) throws(X11Error) -> UInt16 {
        let upright = UInt16(XCB_RANDR_ROTATION_ROTATE_0.rawValue)
        guard let randr = extensions.randr, randr.version >= (1, 3) else { return upright }
        let resources: XReply<xcb_randr_get_screen_resources_current_reply_t> = try reply(
            "RRGetScreenResourcesCurrent",
            xcb_randr_get_screen_resources_current(raw, root).sequence
        )
        let controllers = UnsafeBufferPointer(
            start: xcb_randr_get_screen_resources_current_crtcs(resources.pointer),
            count: Int(xcb_randr_get_screen_resources_current_crtcs_length(resources.pointer))
        )
        let time = resources.value.config_timestamp
        let questions = controllers.map { xcb_randr_get_crtc_info(raw, $0, time).sequence }
        var (largest, found) = (0, upright)
        for question in questions {
            let answer: xcb_randr_get_crtc_info_reply_t = try value("RRGetCrtcInfo", question)
            let place = PixelRect(x: answer.x, y: answer.y, width: answer.width, height: answer.height)
            guard let shown = place.intersection(region), shown.width * shown.height > largest else { continue }
            largest = shown.width * shown.height
            found = answer.rotation
        }
        return found
    }
}
