import Foundation
import Posix
import TestSupport
import Time

/// A shared screen, and servers of calls at the ends of a network.
final class CallsStage {
    let stage: Stage
    let network: Network
    private let folder: TemporaryFolder
    private let capture: ChildProcess

    static let janusRoom = "1234"
    static let room = "room+http://\(Network.senderAddress):8090/tea"
    static let farRoom = "room+http://\(Network.viewerAddress):8090/tea"
    static let endpoint = "whip+http://\(Network.viewerAddress):8888/live/whip"

    init(_ kind: String, _ options: [String] = []) throws {
        stage = try Stage(kind, options)
        network = try Network()
        folder = try TemporaryFolder()
        capture = try Contender.startCapture(stage.display, in: folder)
        sleep(seconds: 0.5)
        try capture.requireRunning()
    }

    deinit { capture.stop() }

    func attach(_ calls: String...) throws -> ChildProcess {
        let command = network.atSender(
            [
                try sibling("oriel"), "attach", "--dir", folder.path + "/bridge", "--codec", "vp8", "--token",
                WebStage.token,
            ]
                + calls
        )
        return try ChildProcess(command[0], Array(command.dropFirst()))
    }

    /// Runs a command of Oriel to its end.
    func run(_ command: String...) throws {
        _ = try Subprocess.run([try sibling("oriel")] + command + ["--dir", folder.path + "/bridge"])
    }

    /// Bytes that have left the sender's end of the wire, with all headers.
    func bytesFromSender() throws -> Int {
        let text = try Subprocess.run(network.atSender(["cat", "/sys/class/net/wire/statistics/tx_bytes"]))
        guard let count = Int(text.prefix { $0.isNumber }) else { throw BenchError("the wire does not count") }
        return count
    }

    /// A listening server of rooms.
    ///
    /// - Parameter isFar: whether it is at the viewers' end.
    func rooms(isFar: Bool = false) throws -> ChildProcess {
        let program = [try sibling("oriel"), "rooms", "--listen", "0.0.0.0:8090"]
        let command = isFar ? network.atViewer(program) : network.atSender(program)
        let server = try ChildProcess(command[0], Array(command.dropFirst()))
        let address = isFar ? Network.viewerAddress : Network.senderAddress
        try wait(until: "the server of rooms listens") { isListening(at: address) }
        return server
    }

    /// A server of Janus with a room.
    func janus(_ room: String = "publishers = 6", general: String = "") throws -> Janus {
        try Janus(in: network, rooms: [(Self.janusRoom, room)], general: general)
    }

    /// A browser in a room of Janus.
    func janusViewer() throws -> Browser {
        let browser = try Browser(.chromium, in: network, "--arg=--disable-features=WebRtcHideLocalIpsWithMdns")
        try browser.open(Janus.page("room=\(Self.janusRoom)"))
        return browser
    }

    /// A listening media server: libwebrtc.
    func mediaServer() throws -> MediaServer { try MediaServer(in: network) }

    private func isListening(at address: String) -> Bool {
        let probe = "import socket; socket.create_connection(('\(address)', 8090), 1).close()"
        return (try? Subprocess.run(network.atViewer(["/usr/bin/python3", "-c", probe]))) != nil
    }

    /// A browser at the sender's page.
    func viewer() throws -> Browser {
        let browser = try Browser(.chromium, in: network, "--arg=--disable-features=WebRtcHideLocalIpsWithMdns")
        try browser.open("http://\(Network.senderAddress):8080/#\(WebStage.token)")
        try wait(until: "the page is live") { try browser.evaluate("oriel.state", as: String.self) == "live" }
        return browser
    }

    /// A browser in the room.
    func browser(isServerFar: Bool = false) throws -> Browser {
        let browser = try Browser(
            .chromium,
            in: network,
            "--arg=--disable-features=WebRtcHideLocalIpsWithMdns"
        )
        try browser.open("http://\(isServerFar ? Network.viewerAddress : Network.senderAddress):8090/tea")
        try wait(until: "it is in the room") {
            try browser.evaluate("document.documentElement.dataset.state", as: String.self) == "waiting"
        }
        return browser
    }
}

/// `Tests/Counterparts/whip_server.py` at the viewers' end.
final class MediaServer {
    private struct Report: Decodable {
        let frames: Int
    }

    let process: Subprocess

    init(in network: Network) throws {
        let program = Counterparts.python + [Counterparts.path("whip_server.py"), "8888", "--interval", "0.01"]
        let process = try Subprocess(network.atViewer(program))
        try wait(until: "the media server listens") { !process.outputLines.isEmpty }
        self.process = process
    }

    deinit { process.stop() }

    /// Frames decoded so far.
    func frames() throws -> Int {
        guard let line = process.outputLines.last else { return 0 }
        return try JSONDecoder().decode(Report.self, from: Data(line.utf8)).frames
    }

    func waitForFrames(beyond count: Int = 0) throws {
        try wait(until: "the media server decodes a frame", timeout: .seconds(30)) { try frames() > count }
    }
}

func framesDecoded(_ browser: Browser) throws -> Int {
    try browser.evaluate(
        """
        (async () => [...(await oriel.pc?.getStats() ?? new Map()).values()].find(
            entry => entry.type === 'inbound-rtp' && entry.kind === 'video')?.framesDecoded ?? 0)()
        """,
        as: Int.self
    )
}

func waitForFrames(_ browser: Browser, beyond count: Int = 0) throws {
    try wait(until: "the browser decodes a frame", timeout: .seconds(30)) { try framesDecoded(browser) > count }
}

/// A browser's connection to the other member of a room, until the next one.
struct RoomConnection {
    private let browser: Browser

    init(of browser: Browser) throws {
        self.browser = browser
        let _: Bool? = try browser.evaluateOptional("(oriel.pc.isFirst = true)")
    }

    /// Waits until both members have a new connection, and the browser has decoded a frame.
    func waitForNext() throws {
        try wait(until: "they find each other again", timeout: .seconds(60)) {
            try browser.evaluate("oriel.pc != null && !oriel.pc.isFirst", as: Bool.self)
        }
        try waitForFrames(browser)
    }
}

/// Frames decoded so far by the page of a viewer of Janus.
func framesOfJanus(_ browser: Browser) throws -> Int {
    try browser.evaluate("(async () => (await state()).frames)()", as: Int.self)
}

func waitForFramesOfJanus(_ browser: Browser, beyond count: Int = 0) throws {
    try wait(until: "the browser decodes a frame", timeout: .seconds(30)) { try framesOfJanus(browser) > count }
}
