import Posix
import TestSupport
import Time

/// The machine loses its address, and after two seconds gets one of another network.
func movingSection(_ options: RunOptions) -> Section {
    var (web, room, whip, janus) = (Samples(), Samples(), Samples(), Samples())
    for _ in 0..<options.rounds {
        web.record {
            let scene = try CallsStage("scrolling")
            let sender = try scene.attach("web")
            defer { sender.stop() }
            sleep(seconds: 1)
            let viewer = try scene.viewer()
            sleep(seconds: 2)
            let start = try scene.move()
            let before = try framesDecoded(viewer)
            try waitForFrames(viewer, beyond: before)
            return [secondsSince(start) * 1000]
        }
        room.record {
            let scene = try CallsStage("scrolling")
            let rooms = try scene.rooms(isFar: true)
            defer { rooms.stop() }
            let browser = try scene.browser(isServerFar: true)
            let sender = try scene.attach(CallsStage.farRoom)
            defer { sender.stop() }
            try waitForFrames(browser)
            let first = try RoomConnection(of: browser)
            sleep(seconds: 2)
            let start = try scene.move()
            try first.waitForNext()
            return [secondsSince(start) * 1000]
        }
        whip.record {
            let scene = try CallsStage("scrolling")
            let server = try scene.mediaServer()
            let sender = try scene.attach(CallsStage.endpoint)
            defer { sender.stop() }
            try server.waitForFrames()
            sleep(seconds: 2)
            let start = try scene.move()
            try server.waitForFrames(beyond: try server.frames())
            return [secondsSince(start) * 1000]
        }
        janus.record {
            let scene = try CallsStage("scrolling")
            let server = try scene.janus()
            defer { withExtendedLifetime(server) {} }
            let browser = try scene.janusViewer()
            let sender = try scene.attach(Janus.call(CallsStage.janusRoom))
            defer { sender.stop() }
            try waitForFramesOfJanus(browser)
            sleep(seconds: 2)
            let start = try scene.move()
            try waitForFramesOfJanus(browser, beyond: try framesOfJanus(browser))
            return [secondsSince(start) * 1000]
        }
    }
    return callsSection(
        "From a new address of the machine to a decoded frame, text that scrolls",
        [
            ("web, Chromium", web, 2000), ("room, the two have found each other again", room, 2000),
            ("WHIP, libwebrtc", whip, 2000), ("Janus, Chromium as its viewer", janus, 2000),
        ],
        goal: { "network changed, \($0)" }
    )
}

extension CallsStage {
    /// Returns when the new address is there.
    fileprivate func move() throws -> Instant {
        try network.moveSender(to: "10.99.0.7", after: .seconds(2))
        return MonotonicClock.now()
    }
}
