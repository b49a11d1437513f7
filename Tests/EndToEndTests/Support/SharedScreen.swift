import Glibc
import TestSupport

/// `oriel share` of a screen, at one end of a network.
struct SharedScreen {
    let network: Network
    let server: XServer
    let folder: TemporaryDirectory
    let process: Subprocess

    /// - Parameters:
    ///   - arguments: more of them.
    ///   - network: one that is there already; nil for a new one.
    ///   - server: what is shared.
    ///   - environment: variables on top of the test's own.
    ///   - shell: a script that runs the command, `"$@"`.
    init(
        _ arguments: String...,
        over network: Network? = nil,
        of server: XServer? = nil,
        environment: [String: String] = [:],
        shell: String = "exec \"$@\""
    ) throws {
        let network = try network ?? Network()
        self.network = network
        self.server = try server ?? XServer()
        folder = try TemporaryDirectory(of: .shared)
        let command = [Programs.oriel, "share", "--display", self.server.display, "--dir", folder.file("bridge")]
        process = try Subprocess(
            network.atSender(["sh", "-c", shell, "sh"] + command + arguments),
            environment: environment
        )
        let process = process
        try process.wait(until: "the link is there") { process.outputLines.contains { $0.contains("#") } }
    }

    /// The process identifier of its child that runs a command.
    func child(_ command: String) throws -> pid_t? { try Self.child(command, of: process.pid) }

    static func child(_ command: String, of parent: pid_t) throws -> pid_t? {
        let list = try Subprocess.run(["ps", "-o", "pid=,args=", "--ppid", "\(parent)"])
        let line = list.split(separator: "\n").first { $0.contains("oriel \(command)") }
        return line?.split(separator: " ").first.flatMap { pid_t($0) }
    }

    var token: String { String(process.output.split(separator: "#")[1].prefix { !$0.isNewline }) }

    func view() throws -> Counterparts.Report {
        let url = "http://\(Network.senderAddress):8080/whep"
        let viewer = try Counterparts.viewer(
            .pion,
            of: url,
            token: token,
            in: network,
            ["--frames", "1", "--seconds", "300"]
        )
        return try Counterparts.report(viewer)
    }

    /// The options of the commands that ask something of it.
    var broadcast: [String] { ["--dir", folder.file("bridge")] }
}
