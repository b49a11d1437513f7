import FoundationEssentials
import Glibc
import Posix
import TestSupport
import Testing
import Time

extension Refuse {
    /// What reaches a terminal, and what a terminal does to who writes there.
    @Suite struct TerminalTests {
        /// Clears the screen, sets the title, goes back, ends a line, and more of the kind.
        private static let hostile =
            "a\u{1B}[2J\u{1B}]0;owned\u{7}\r\n\u{8}\u{7F}\u{9B}31m\u{202E}txt\u{2066}\u{2028}\u{2029}\u{85}z"
        private static let spelt =
            #"a\u{1B}[2J\u{1B}]0;owned\u{7}\u{D}\u{A}\u{8}\u{7F}\u{9B}31m\u{202E}txt\u{2066}\u{2028}\u{2029}\u{85}z"#

        /// Whether a terminal would only show it, apart from the ends of lines.
        private static func isHarmless(_ text: String) -> Bool {
            text.unicodeScalars.allSatisfy { scalar in
                switch scalar.value {
                case 0xA: true
                case 0..<0x20, 0x7F..<0xA0, 0x202A...0x202E, 0x2028, 0x2029, 0x2066...0x2069: false
                default: true
                }
            }
        }

        /// Invariant: terminal.
        @Test func aTitleCommandsNoTerminal() throws {
            let server = try XServer()
            let drawing = try draw("still", on: server)
            defer { drawing.stop() }
            try wait(until: "the window is there") { try windows(on: server).contains { $0.title == "workload" } }
            let id = try #require(try windows(on: server).first { $0.title == "workload" }).id
            let set = ["xprop", "-id", id, "-f", "_NET_WM_NAME", "8u", "-set", "_NET_WM_NAME", Self.hostile]
            try Subprocess.run(set, environment: server.environment.merging(["LC_ALL": "C.UTF-8"]) { $1 })

            #expect(try windows(on: server).first { $0.id == id }?.title == Self.hostile)
            let (table, json) = (try list(server), try list(server, "--json"))
            #expect(
                Self.isHarmless(table) && Self.isHarmless(json),
                "\(table.debugDescription) \(json.debugDescription)"
            )
            #expect(table.contains("  \(Self.spelt)\n"), "\(table)")
            #expect(json.split(separator: "\n").count == 1)
        }

        private struct Listing: Decodable {
            struct Window: Decodable {
                let id: String
                let title: String
            }
            let windows: [Window]
        }

        private func list(_ server: XServer, _ arguments: String...) throws -> String {
            try CommandResult([Programs.oriel, "list", "--display", server.display] + arguments).output
        }

        private func windows(on server: XServer) throws -> [Listing.Window] {
            try JSONDecoder().decode(Listing.self, from: Data(try list(server, "--json").utf8)).windows
        }

        /// By requests, by the files of senders, and by the status of a capture process.
        @Test func nothingElseThatOthersWroteDoesEither() throws {
            let server = try XServer()
            let broadcast = try Broadcast(on: server.display, isOfTests: true)
            let capture = try broadcast.start()
            // Ends of lines end requests and values.
            let line = Self.hostile.filter { !$0.isNewline }
            let path = broadcast.directory
            try FileDescriptor.open("\(path)/new", O_WRONLY | O_CREAT).write("show \(line)\n")
            rename("\(path)/new", "\(path)/request")
            try capture.wait(until: "the capture process refuses") { capture.errorOutput.contains("no way to show") }
            #expect(Self.isHarmless(capture.errorOutput), "\(capture.errorOutput.debugDescription)")

            // This process passes for a sender.
            let senders = "\(path)/senders"
            mkdir(senders, 0o700)
            mkdir("\(senders)/\(getpid())", 0o700)
            let folder = try FileDescriptor.open("\(senders)/\(getpid())", O_RDONLY | O_DIRECTORY)
            let listener = try LocalListener(at: "control", in: folder)
            let words = String(decoding: try JSONEncoder().encode([Self.hostile]), as: UTF8.self).dropFirst().dropLast()
            let numbers = ["id", "since_s", "bitrate_bps", "frames_sent", "nacks", "plis"].map { "\"\($0)\":1" }
            let texts = ["address", "call", "codec", "state"].map { "\"\($0)\":\(words)" }
            let viewer = (numbers + texts + ["\"pictures\":\"sent\"", "\"talk\":\"off\""]).joined(separator: ",")
            let call = "{\"name\":\(words),\"reason\":\(words),\"state\":\"away\",\"since_s\":1}"
            let lie = "{\"status\":{\"report\":{\"calls\":[\(call)],\"bitrate_bps\":1,\"viewers\":[{\(viewer)}]}}}"
            let refusal = "{\"refused\":{\"reason\":\(words)}}"
            let thread = try Thread {
                for answer in [lie, lie, refusal] {
                    guard waitReadable(listener.raw, until: MonotonicClock.now() + .seconds(60)) else { return }
                    let late: Instant = MonotonicClock.now() + .seconds(60)
                    guard let asker = listener.accept() else { continue }
                    _ = try? asker.receive(limit: 1000, until: late)
                    try? asker.send(answer, until: late)
                }
            }
            let status = try broadcast.run("status").output
            #expect(status.contains(Self.spelt) && Self.isHarmless(status), "\(status.debugDescription)")
            #expect(Self.isHarmless(try broadcast.run("status", "--json").output))
            let refused = try broadcast.run("kick", "1", "--sender", "\(getpid())").errorOutput
            #expect(refused.contains(Self.spelt) && Self.isHarmless(refused), "\(refused.debugDescription)")
            thread.join()

            capture.kill(SIGKILL)
            try capture.wait()
            try FileDescriptor.open("\(path)/status", O_WRONLY | O_TRUNC).write(
                "state=error\nreason=\(line)\ngen=0\npid=1\nstarted_ns=1\nerror=\(line)\nerror_ns=1\n"
            )
            for command in ["status", "inspect"] {
                let result = try broadcast.run(command).output
                #expect(result.contains("\\u{1B}") && Self.isHarmless(result), "\(result.debugDescription)")
            }
            for arguments in [["--dir", line], ["--\(line)"], [line]] {
                let result = try CommandResult([Programs.oriel, "stop"] + arguments).errorOutput
                #expect(result.contains("\\u{1B}") && Self.isHarmless(result), "\(result.debugDescription)")
            }
        }

        /// What it is to say, and the command; the folder of a broadcast, the name of a display and a
        /// port are put in.
        private static let commands: [(String, [String])] = [
            ("sharing", ["start", "--dir", "DIR", "--display", "DISPLAY"]),
            ("waiting for it", ["attach", "rtp://127.0.0.1:PORT", "--dir", "DIR"]),
            ("sharing", ["share", "--dir", "DIR", "--display", "DISPLAY", "--listen", "127.0.0.1:PORT"]),
            ("http", ["share", "--dir", "DIR", "--display", "DISPLAY", "--listen", "127.0.0.1:PORT"]),
            ("stopped in", ["status", "--watch", "--dir", "DIR"]),
        ]

        @Test(arguments: commands)
        func aTerminalStopsNobodyInItsBackground(text: String, command: [String]) throws {
            let server = try XServer()
            let broadcast = try Broadcast(on: server.display)
            mkdir(broadcast.directory, 0o700)
            OrdinaryUser.shared.own(broadcast.directory)
            let port = try "\(Ports.free())"
            let words = command.map { word in
                switch word {
                case "DIR": broadcast.directory
                case "DISPLAY": server.display
                default: word.replacing("PORT", with: port)
                }
            }
            let terminal = try Subprocess(["python3", "Tests/Counterparts/terminal.py", text, Programs.oriel] + words)
            #expect(try terminal.wait() == .code(0), "\(terminal.errorOutput)")
            #expect(terminal.output == "exit 0\n", "\(terminal.errorOutput)")
        }
    }
}
