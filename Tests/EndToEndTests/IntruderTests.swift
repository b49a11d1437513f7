import Glibc
import Posix
import TestSupport
import Testing

/// What code in a process that was taken over can do: it is loaded into the real ones (`Tests/Counterparts/intruder.c`), and runs
/// once they have given their rights up. As the user of the tests, so that what is refused is refused even to root.
@Suite(.serialized) struct IntruderTests {
    private let folder: TemporaryDirectory
    private let server: XServer
    private let broadcast: Broadcast

    init() throws {
        folder = try TemporaryDirectory()
        server = try XServer()
        broadcast = try Broadcast(on: server.display, isOfTests: true)
        let flags = ["-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "-O1"]
        try Subprocess.run(["clang"] + flags + ["-o", folder.file("intruder.so"), "Tests/Counterparts/intruder.c"])
        for name in ["outside", "mine"] { close(open(folder.file(name), O_WRONLY | O_CREAT, 0o600)) }
    }

    @Test(arguments: ["web", "rtp"], ["file", "memfd"])
    func aSenderOnlyReads(call: String, storage: String) throws {
        let capture = try broadcast.start("--bridge", storage)
        let generation = try generation()
        mkdir("\(broadcast.directory)/senders", 0o700)
        let environment = [
            "ORIEL_INTRUDER_FOLDER": broadcast.directory, "ORIEL_INTRUDER_MINE": folder.file("mine"),
            "ORIEL_TOKEN": "a-token-of-the-tests",
        ]
        let words = call == "web" ? ["--listen", "127.0.0.1:0"] : ["--sdp", folder.file("sdp")]
        let destination = call == "web" ? call : "rtp://127.0.0.1:\(try Ports.free())"
        let tries = try intrude(["attach", destination, "--dir", broadcast.directory] + words, environment)
        #expect(tries.count > (storage == "file" ? 110 : 80))
        #expect(tries.contains(storage == "file" ? "inherited:frames" : "shrink:memory"))

        #expect(try broadcast.run("status").output.hasPrefix("active"))
        #expect(try self.generation() == generation && generation?.count == 16)
        #expect(capture.errorOutput.split(separator: "\n").count == 1, "\(capture.errorOutput)")
        capture.stop()
    }

    @Test func aCaptureProcessReachesNothingElse() throws {
        let command = ["start", "--display", server.display, "--dir", broadcast.directory]
        let tries = try intrude(command, ["ORIEL_INTRUDER_MINE": folder.file("mine")])
        #expect(tries.count > 25)
    }

    @Test func aServerOfRoomsReachesNothingElse() throws {
        let environment = ["ORIEL_INTRUDER_MINE": folder.file("mine"), "ORIEL_INTRUDER_LISTENS": "1"]
        let tries = try intrude(["rooms", "--listen", "127.0.0.1:0"], environment)
        #expect(tries.count > 35)
    }

    /// A window, which was decoded for, and has the screen.
    @Test func aWindowReachesNothingElse() throws {
        let capture = try broadcast.start()
        defer { capture.stop() }
        let environment = [
            "ORIEL_INTRUDER_MINE": folder.file("mine"), "ORIEL_INTRUDER_SHOWS": "1", "DISPLAY": server.display,
        ]
        // It lives as long as its input.
        let input = try Pipe()
        let tries = try intrude(["view", "--dir", broadcast.directory], environment, input: input.reading.raw)
        #expect(tries.contains("tcp") && tries.count > 35)
    }

    private func generation() throws -> Substring? {
        try broadcast.run("inspect", "--json").output.split(separator: "\"generation\":\"").last?.prefix(16)
    }

    /// Runs a command with the intruder, and expects that all it tried was refused.
    ///
    /// - Returns: what it tried.
    private func intrude(
        _ command: [String],
        _ environment: [String: String],
        input: Int32? = nil
    ) throws -> [String] {
        let own = ["LD_PRELOAD": folder.file("intruder.so"), "ORIEL_INTRUDER_OUTSIDE": folder.file("outside")]
        let process = try Subprocess(
            [Programs.orielOfTests] + command,
            environment: environment.merging(own) { $1 },
            input: input
        )
        try wait(until: "the intruder is done: \(process.errorOutput)") {
            if let exit = process.status() { throw Unexpected("\(exit): \(process.errorOutput)") }
            return process.errorOutput.contains("intruder done")
        }
        process.stop()
        let tries = process.errorOutput.split(separator: "\n").filter { $0.hasPrefix("intruder ") }.map {
            $0.split(separator: " ").map(String.init)
        }
        for words in tries where words[1] != "done" {
            let code = Int32(words[2]) ?? -1
            let expected: [Int32] =
                switch words[1].split(separator: ":")[0] {
                case "own": [0]
                // A socket that listens, is of another type, or is connected.
                case "connect": [EINVAL, EPROTOTYPE, EISCONN]
                default: [EPERM, EACCES]
                }
            #expect(expected.contains(code), "\(words[1]): \(code)")
        }
        return tries.map { $0[1] }
    }
}
