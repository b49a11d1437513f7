import FoundationEssentials
import Glibc
import TestSupport

/// A screen, its broadcast, and a WHIP server on libwebrtc at the other end of a network.
final class WHIPScene {
    struct Report: Decodable {
        let posts: Int
        let sessions: Int
        let deleted: Int
        let frames: Int
        let width: Int?
        let codec: String?
        /// Addresses and what follows them, of the last offer or of the fragment after it.
        let candidates: [String]
        /// Fragments that were taken.
        let trickled: Int
        let restarted: Int
        /// What stood in the place of a token that is right.
        let refused: [String?]
    }

    let network: Network
    let display: XServer
    let broadcast: Broadcast
    let capture: Subprocess
    private(set) var server: Subprocess
    private let arguments: [String]

    convenience init(over network: Network? = nil, _ arguments: String...) throws {
        try self.init(over: network, arguments: arguments)
    }

    init(over network: Network? = nil, arguments: [String]) throws {
        self.network = try network ?? Network()
        display = try XServer(.virtual(width: 1280, height: 720))
        broadcast = try Broadcast(on: display.display)
        capture = try broadcast.start("--no-cursor")
        self.arguments = arguments
        server = try Self.serve(self.network, arguments)
    }

    deinit { capture.stop() }

    private static func serve(_ network: Network, _ arguments: [String]) throws -> Subprocess {
        let program = Counterparts.python + [Counterparts.path("whip_server.py"), "8888"]
        let server = try Subprocess(network.atViewer(program + arguments))
        try server.wait(until: "the server listens") { !server.outputLines.isEmpty }
        return server
    }

    func restartServer() throws {
        server.kill(SIGKILL)
        _ = try server.wait()
        server = try Self.serve(network, arguments)
    }

    func attach(
        to path: String = "/live/whip",
        environment: [String: String] = [:],
        arguments: [String] = []
    ) throws -> Subprocess {
        let call = "whip+http://\(network.viewerHost):8888\(path)"
        let command = [Programs.oriel, "attach", "--dir", broadcast.directory, call] + arguments
        return try Subprocess(network.atSender(command), environment: environment)
    }

    var report: Report {
        get throws {
            try JSONDecoder().decode(Report.self, from: Data(server.outputLines.last!.utf8))
        }
    }

    func waitForPicture(_ sender: Subprocess) throws {
        try sender.wait(until: "the picture comes") { try report.frames > 0 }
    }
}
