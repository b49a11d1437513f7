import Foundation
import Posix
import TestSupport
import Time

/// A screen that is shared, and servers of calls at the ends of a network.
final class CallsStage {
    let stage: Stage
    let network: Network
    private let folder: TemporaryFolder
    private let capture: ChildProcess

    static let janusRoom = "1234"
    static let room = "room+http://\(Network.senderAddress):8090/tea"
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

    /// What has left the sender's end of the wire so far, with all headers.
    func bytesFromSender() throws -> Int {
        let text = try Subprocess.run(network.atSender(["cat", "/sys/class/net/wire/statistics/tx_bytes"]))
        guard let count = Int(text.prefix { $0.isNumber }) else { throw BenchError("the wire does not count") }
        return count
    }

    /// A server of rooms that listens.
    func rooms() throws -> ChildProcess {
        let command = network.atSender([try sibling("oriel"), "rooms", "--listen", "0.0.0.0:8090"])
        let server = try ChildProcess(command[0], Array(command.dropFirst()))
        try wait(until: "the server of rooms listens") { isListening() }
        return server
    }

    /// A server of Janus with a room.
    func janus(_ room: String = "publishers = 6", general: String = "") throws -> Janus {
        try Janus(in: network, rooms: [(Self.janusRoom, room)], general: general)
    }

    /// A browser that waits in a room of Janus.
    func janusViewer() throws -> Browser {
        let browser = try Browser(.chromium, in: network, "--arg=--disable-features=WebRtcHideLocalIpsWithMdns")
        try browser.open(Janus.page("room=\(Self.janusRoom)"))
        return browser
    }

    /// A media server that listens: libwebrtc.
    func mediaServer() throws -> MediaServer { try MediaServer(in: network) }

    private func isListening() -> Bool {
        let probe = "import socket; socket.create_connection(('\(Network.senderAddress)', 8090), 1).close()"
        return (try? Subprocess.run(network.atViewer(["/usr/bin/python3", "-c", probe]))) != nil
    }

    /// A browser in the room.
    func browser() throws -> Browser {
        let browser = try Browser(
            .chromium,
            in: network,
            "--arg=--disable-features=WebRtcHideLocalIpsWithMdns"
        )
        try browser.open("http://\(Network.senderAddress):8090/tea")
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
        try wait(until: "the media server listens") { process.output.contains("{") }
        self.process = process
    }

    deinit { process.stop() }

    func waitForFrames() throws {
        try wait(until: "the media server decodes a frame", timeout: .seconds(30)) {
            guard let line = process.output.split(separator: "\n").dropLast().last else { return false }
            return try JSONDecoder().decode(Report.self, from: Data(line.utf8)).frames > 0
        }
    }
}

private func framesDecoded(_ browser: Browser) throws -> Int {
    try browser.evaluate(
        """
        (async () => [...(await oriel.pc?.getStats() ?? new Map()).values()].find(
            entry => entry.type === 'inbound-rtp' && entry.kind === 'video')?.framesDecoded ?? 0)()
        """,
        as: Int.self
    )
}

func waitForFrames(_ browser: Browser) throws {
    try wait(until: "the browser decodes a frame", timeout: .seconds(30)) { try framesDecoded(browser) > 0 }
}

/// The page of a viewer of Janus.
func waitForFramesOfJanus(_ browser: Browser) throws {
    try wait(until: "the browser decodes a frame", timeout: .seconds(30)) {
        try browser.evaluate("(async () => (await state()).frames)()", as: Int.self) > 0
    }
}
