import FoundationEssentials
import Glibc
import TestSupport

/// A WHIP server on libwebrtc, at the viewers' end of a network.
final class MediaServer {
    private let command: [String]
    private(set) var process: Subprocess

    init(in network: Network, _ arguments: String...) throws {
        let program = Counterparts.python + [Counterparts.path("whip_server.py"), "8888"]
        command = network.atViewer(program + arguments)
        process = try Self.serve(command)
    }

    private static func serve(_ command: [String]) throws -> Subprocess {
        let process = try Subprocess(command)
        try process.wait(until: "the media server listens") { !process.outputLines.isEmpty }
        return process
    }

    func kill() throws {
        process.kill(SIGKILL)
        _ = try process.wait()
    }

    func restart() throws { process = try Self.serve(command) }

    var report: WHIPScene.Report {
        get throws {
            try JSONDecoder().decode(WHIPScene.Report.self, from: Data(process.outputLines.last!.utf8))
        }
    }

    /// Waits until it decodes more of the screen.
    func waitForPictures(_ sender: Subprocess) throws {
        let before = try report
        try wait(until: "the media server gets pictures: \(sender.errorOutput)") {
            let now = try report
            return now.width == 1280 && now.frames > (now.posts == before.posts ? before.frames : 0)
        }
    }
}

/// A room, and a member in it on libwebrtc.
final class RoomInView {
    private struct Report: Decodable { let frames: Int }

    private let server: Subprocess
    private let member: Subprocess

    init(in network: Network) throws {
        let server = try Subprocess(network.atSender([Programs.oriel, "rooms", "--listen", "0.0.0.0:8090"]))
        try server.wait(until: "rooms are there") { server.output.contains("http") }
        let url = "http://\(Network.senderAddress):8090"
        let program = [Counterparts.path("rooms_member.py"), url, "tea", "websocket"]
        let member = try Subprocess(network.atViewer(Counterparts.python + program))
        try member.wait(until: "the member is there") {
            member.outputLines.contains { $0.contains("true") }
        }
        (self.server, self.member) = (server, member)
    }

    /// Frames that the member has decoded; 0 without a call.
    var frames: Int {
        get throws {
            try JSONDecoder().decode(Report.self, from: Data(member.outputLines.last!.utf8)).frames
        }
    }

    func waitForPictures(_ sender: Subprocess) throws {
        let before = try frames
        try wait(until: "the member gets pictures: \(sender.errorOutput)") {
            try frames > before
        }
    }
}

/// A call, as `oriel status` tells of it.
struct ToldCall: Decodable {
    private struct Status: Decodable {
        /// Without calls, it has not answered in time.
        struct Sender: Decodable { let calls: [ToldCall]? }
        let senders: [Sender]
    }

    let name: String
    let state: String
    let reason: String?
    let viewers: [Int]

    /// Those of all senders of a broadcast.
    static func all(in directory: String) throws -> [ToldCall] {
        var calls: [ToldCall] = []
        try wait(until: "all senders tell of their calls") {
            let result = try CommandResult([Programs.oriel, "status", "--json", "--dir", directory])
            let senders = try JSONDecoder().decode(Status.self, from: Data(result.output.utf8)).senders
            calls = senders.flatMap { $0.calls ?? [] }
            return senders.allSatisfy { $0.calls != nil }
        }
        return calls
    }

    static func named(_ name: String, in directory: String) throws -> ToldCall? {
        try all(in: directory).first { $0.name == name }
    }
}
