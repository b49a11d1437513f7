import TestSupport

/// A screen, its broadcast, and a Janus with a room at the other end of a network.
final class JanusScene {
    /// What a browser tells of the stream that it gets.
    struct Seen: Decodable {
        let frames: Int
        let keyframes: Int
        let width: Int
        let codec: String
    }

    let network: Network
    let display: XServer
    let broadcast: Broadcast
    let capture: Subprocess
    let janus: Janus

    init(
        _ settings: String = "publishers = 6, videocodec = \"vp9,vp8,av1\"",
        over network: Network? = nil,
        room: String = "1234",
        streaming: String = "",
        general: String = "",
        videoRoom: String = ""
    ) throws {
        self.network = try network ?? Network()
        display = try XServer(.virtual(width: 1280, height: 720))
        broadcast = try Broadcast(on: display.display)
        capture = try broadcast.start("--no-cursor")
        janus = try Janus(
            in: self.network,
            rooms: [(room, settings)],
            streaming: streaming,
            general: general,
            videoRoom: videoRoom
        )
    }

    deinit { capture.stop() }

    func attach(
        _ room: String = "1234",
        to call: String? = nil,
        _ arguments: [String] = [],
        environment: [String: String] = [:]
    ) throws -> Subprocess {
        let call = call ?? Janus.call(room, at: network.viewerHost)
        let command = [Programs.oriel, "attach", "--dir", broadcast.directory, call]
        return try Subprocess(network.atSender(command + arguments), environment: environment)
    }

    func open(_ choice: String) throws -> Browser {
        let browser = try network.browser(.chromium)
        try browser.open(Janus.page(choice, at: network.viewerHost))
        return browser
    }

    func seen(_ browser: Browser) throws -> Seen { try browser.evaluate("state()", as: Seen.self) }

    func waitForPicture(_ browser: Browser, _ sender: Subprocess) throws {
        try sender.wait(until: "the picture comes") {
            let seen = try seen(browser)
            return seen.frames > 0 && seen.width == 1280
        }
    }

    func waitUntilPublished(_ sender: Subprocess, times: Int = 1) throws {
        try sender.wait(until: "the room gets the picture") { publications(by: sender) >= times }
    }

    /// How often the sender has told that the room gets the picture.
    func publications(by sender: Subprocess) -> Int {
        sender.errorOutput.split(separator: "\n").count { $0.contains("the room gets the picture") }
    }
}
