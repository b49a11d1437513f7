import Glibc
import TestSupport
import Testing

/// What reaches a terminal, and what a terminal does to who writes there.
@Suite(.serialized) struct TerminalTests {
    /// What it is to say, and the command; the folder of a broadcast and the name of a display are put in.
    private static let commands: [(String, [String])] = [
        ("sharing", ["start", "--dir", "DIR", "--display", "DISPLAY"]),
        ("waiting for it", ["attach", "rtp://127.0.0.1:6192", "--dir", "DIR"]),
        ("sharing", ["share", "--dir", "DIR", "--display", "DISPLAY", "--listen", "127.0.0.1:6193"]),
        ("http", ["share", "--dir", "DIR", "--display", "DISPLAY", "--listen", "127.0.0.1:6194"]),
        ("stopped in", ["status", "--watch", "--dir", "DIR"]),
    ]

    @Test(arguments: commands)
    func aTerminalStopsNobodyInItsBackground(text: String, command: [String]) throws {
        let server = try XServer()
        let broadcast = try Broadcast(on: server.display)
        mkdir(broadcast.directory, 0o700)
        let words = command.map { $0 == "DIR" ? broadcast.directory : $0 == "DISPLAY" ? server.display : $0 }
        let terminal = try Subprocess(["python3", "Tests/Peers/terminal.py", text, Programs.oriel] + words)
        #expect(try terminal.wait() == .code(0), "\(terminal.errorOutput)")
        #expect(terminal.output == "exit 0\n", "\(terminal.errorOutput)")
    }
}
