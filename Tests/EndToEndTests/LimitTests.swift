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

    @Test(arguments: [9, 14])
    func descriptorsThatRunOutAreTold(limit: Int) throws {
        let folder = try TemporaryDirectory(of: .shared)
        let result = try run("--nofile=\(limit)", ["share", "--display", ":4711", "--dir", folder.file("bridge")])
        #expect(result.code == 1)
        #expect(result.errorOutput.contains("raise the limit of open files (ulimit -n)"), "\(result.errorOutput)")
        #expect(result.errorOutput.split(separator: "\n").count == 1, "\(result.errorOutput)")
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

    /// Of the memory that the X server shares, and of the bridge.
    @Test(arguments: [100_000, 1_300_000])
    func filesThatMayNotGrowAreTold(limit: Int) throws {
        let server = try XServer()
        let broadcast = try Broadcast(on: server.display)
        let result = try run(
            "--fsize=\(limit)",
            ["start", "--display", server.display, "--dir", broadcast.directory]
        )
        #expect(result.code == 1)
        #expect(result.errorOutput.split(separator: "\n").last?.contains("ulimit -f") ?? false, "\(result.errorOutput)")
    }
}
