import Glibc
import TestSupport
import Testing

/// A limit of the system (setrlimit) ends a command with one sentence, and by no signal.
@Suite struct LimitTests {
    /// The program itself: its launcher is a script, which needs processes of its own.
    private static var oriel: String {
        guard geteuid() == 0 else { return Programs.orielOfTests }
        return "\(Programs.oriel[..<Programs.oriel.lastIndex(of: "/")!])/bin/oriel"
    }

    private func run(_ limit: String, _ arguments: [String]) throws -> CommandResult {
        try CommandResult(OrdinaryUser.shared.running(["prlimit", limit, Self.oriel] + arguments))
    }

    @Test func threadsThatCannotStartAreTold() throws {
        let result = try run("--nproc=1", ["rooms", "--listen", "127.0.0.1:0"])
        #expect(result.code == 1)
        #expect(result.errorOutput.contains("cannot start threads"), "\(result.errorOutput)")
        #expect(result.errorOutput.contains("ulimit -u"), "\(result.errorOutput)")
        #expect(result.errorOutput.split(separator: "\n").count == 1, "\(result.errorOutput)")
    }

    @Test func filesThatMayNotGrowAreTold() throws {
        let server = try XServer()
        let broadcast = try Broadcast(on: server.display)
        let result = try run("--fsize=100000", ["start", "--display", server.display, "--dir", broadcast.directory])
        #expect(result.code == 1)
        #expect(result.errorOutput.contains("ulimit -f"), "\(result.errorOutput)")
        #expect(result.errorOutput.split(separator: "\n").count == 1, "\(result.errorOutput)")
    }
}
