import CXCB

/// How a monitor turns and mirrors what it shows of the screen (RandR 1.2, "Rotation").
package struct MonitorOrientation: Equatable, Sendable {
    static let upright = MonitorOrientation(quarterTurns: 0, isMirrored: false)

    /// Counter-clockwise, 0...3, after mirroring.
    package let quarterTurns: Int
    /// Whether left and right are exchanged.
    package let isMirrored: Bool

    private init(quarterTurns: Int, isMirrored: Bool) {
        self.quarterTurns = quarterTurns
        self.isMirrored = isMirrored
    }

    /// - Parameter rotation: the bits of RandR's ROTATION; what they leave open is taken for upright.
    init(rotation: UInt16) {
        func has(_ bit: xcb_randr_rotation_t) -> Bool { rotation & UInt16(bit.rawValue) != 0 }
        let turns: Int =
            if has(XCB_RANDR_ROTATION_ROTATE_90) {
                1
            } else if has(XCB_RANDR_ROTATION_ROTATE_180) {
                2
            } else if has(XCB_RANDR_ROTATION_ROTATE_270) {
                3
            } else {
                0
            }
        let (mirrorsX, mirrorsY) = (has(XCB_RANDR_ROTATION_REFLECT_X), has(XCB_RANDR_ROTATION_REFLECT_Y))
        // Exchanging up and down is exchanging left and right, and half a turn.
        self.init(quarterTurns: (turns + (mirrorsY ? 2 : 0)) % 4, isMirrored: mirrorsX != mirrorsY)
    }
}

extension XConnection {
    /// How the monitor stands that shows most of a region; upright where the server does not say (RandR below 1.3).
    func orientation(of region: CaptureRegion) throws(X11Error) -> MonitorOrientation {
        guard let randr = extensions.randr, randr.version >= .init(major: 1, minor: 3) else { return .upright }
        let resources = try reply(
            "RRGetScreenResourcesCurrent",
            xcb_randr_get_screen_resources_current(raw, root).sequence,
            as: xcb_randr_get_screen_resources_current_reply_t.self
        )
        let controllers = UnsafeBufferPointer(
            start: xcb_randr_get_screen_resources_current_crtcs(resources.pointer),
            count: Int(xcb_randr_get_screen_resources_current_crtcs_length(resources.pointer))
        )
        let time = resources.value.config_timestamp
        let questions = controllers.map { xcb_randr_get_crtc_info(raw, $0, time).sequence }
        var (largest, found) = (0, MonitorOrientation.upright)
        for question in questions {
            let answer = try reply("RRGetCrtcInfo", question, as: xcb_randr_get_crtc_info_reply_t.self).value
            let shown = CaptureRegion(x: answer.x, y: answer.y, width: answer.width, height: answer.height)
                .intersection(region)
            if shown.width * shown.height > largest {
                largest = shown.width * shown.height
                found = MonitorOrientation(rotation: answer.rotation)
            }
        }
        return found
    }
}
