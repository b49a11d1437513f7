import Glibc
import Posix
import TestSupport
import Testing

extension Refuse {
    /// What code in a process that was taken over can do: it is loaded into the real ones (`Tests/Counterparts/intruder.c`), and runs
    /// once they have given their rights up. As the user of the tests, so that what is refused is refused even to root.
    @Suite struct IntruderTests {
        private let folder: TemporaryDirectory
        private let server: XServer
        private let broadcast: Broadcast

        init() throws {
            folder = try TemporaryDirectory()
            server = try XServer()
            broadcast = try Broadcast(on: server.display, isOfTests: true)
            for name in ["outside", "mine"] { close(open(folder.file(name), O_WRONLY | O_CREAT, 0o600)) }
        }

        enum Kind: CaseIterable { case web, rtp, whip }

        /// Invariant: confined.
        @Test(arguments: Kind.allCases, ["file", "memfd"])
        func aSenderOnlyReads(kind: Kind, storage: String) throws {
            let capture = try broadcast.start("--bridge", storage)
            let generation = try generation()
            mkdir("\(broadcast.directory)/senders", 0o700)
            var environment = [
                "ORIEL_INTRUDER_FOLDER": broadcast.directory, "ORIEL_INTRUDER_MINE": folder.file("mine"),
                "ORIEL_TOKEN": "a-token-of-the-tests", "ORIEL_WHIP_TOKEN": "another-token",
            ]
            // It takes connections, and answers none.
            let server = FileDescriptor(taking: socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0))
            let raw = server.raw
            try check("listen") { listen(raw, 8) }
            let words: [String]
            switch kind {
            case .web: words = ["web", "--listen", "127.0.0.1:0"]
            case .rtp: words = ["rtp://127.0.0.1:\(try Ports.free())", "--sdp", folder.file("sdp")]
            case .whip: words = ["whip+http://127.0.0.1:\(try port(of: server))/live"]
            }
            // A WHIP server may name relays that are reached by TLS, by way of a port of the loopback.
            if kind != .rtp { environment["ORIEL_INTRUDER_ACCEPTS"] = "1" }
            let tries = try intrude(["attach", "--dir", broadcast.directory] + words, environment)
            #expect(tries.count > (storage == "file" ? 115 : 85))
            #expect(tries.contains(storage == "file" ? "inherited:frames" : "shrink:memory"))
            #expect(tries.contains(kind == .rtp ? "listen" : "own:listen"))

            #expect(try broadcast.run("status").output.hasPrefix("active"))
            #expect(try self.generation() == generation && generation?.count == 16)
            #expect(capture.errorOutput.split(separator: "\n").count == 1, "\(capture.errorOutput)")
            capture.stop()
        }

        private func port(of socket: borrowing FileDescriptor) throws -> UInt16 {
            var (address, size) = (sockaddr_in(), socklen_t(MemoryLayout<sockaddr_in>.size))
            let raw = socket.raw
            try check("getsockname") {
                withUnsafeMutableBytes(of: &address) {
                    getsockname(raw, $0.baseAddress!.assumingMemoryBound(to: sockaddr.self), &size)
                }
            }
            return UInt16(bigEndian: address.sin_port)
        }

        /// The process that reads files which may be renewed, such as the token of a WHIP server. It has their folders.
        /// Invariant: confined.
        @Test func whatReadsFilesReachesNothingElse() throws {
            let tokens = try TemporaryDirectory(of: .shared)
            try FileDescriptor.open(tokens.file("token"), O_WRONLY | O_CREAT).write("a.secret\n")
            chmod(tokens.file("token"), 0o644)
            let environment = ["ORIEL_INTRUDER_MINE": folder.file("mine"), "ORIEL_INTRUDER_READS": "1"]
            let input = try Pipe()
            try Posix.write("\n", to: input.writing.raw)
            let tries = try intrude(["read", "--", tokens.file("token")], environment, input: input.reading.raw)
            #expect(
                tries.contains("tcp") && tries.contains("unix") && tries.contains("read:outside") && tries.count > 35
            )
        }

        /// The process that asks a person, which has the bus of the session and starts what shows notifications.
        /// Invariant: confined.
        @Test func whatAsksReachesLittle() throws {
            let state = try TemporaryDirectory()
            let environment = [
                "ORIEL_INTRUDER_MINE": folder.file("mine"), "ORIEL_INTRUDER_READS": "1", "ORIEL_INTRUDER_ASKS": "1",
                "ORIEL_INTRUDER_OWN": state.file("oriel/visitors"), "XDG_STATE_HOME": state.path,
                "DBUS_SESSION_BUS_ADDRESS": "", "XDG_RUNTIME_DIR": "",
            ]
            try makeKey(in: state)
            let input = try Pipe()
            try Posix.write("\n", to: input.writing.raw)
            let tries = try intrude(["ask"], environment, input: input.reading.raw)
            #expect(tries.contains("own:write") && tries.contains("end:parent") && tries.count > 40)
            #expect(tries.contains("read:key"))
        }

        /// A program that passes for notify-send has the click of a person, but no file of theirs.
        /// Invariant: confined.
        @Test func whatShowsNotificationsReachesLess() throws {
            let (state, programs) = (try TemporaryDirectory(), try TemporaryDirectory())
            try makeKey(in: state)
            let visitors = state.file("oriel/visitors")
            let script = """
                #!/bin/sh
                verdict=accept
                (cat "$0" /etc/passwd > /dev/null) || verdict=reject
                for file in \(folder.file("outside")) \(state.file("oriel/https.pem")); do
                    if (: < $file) || (: >> $file); then verdict=reject; fi
                done
                if (: > \(visitors)/known) || [ ! -d \(visitors) ]; then verdict=reject; fi
                echo $verdict
                """
            try FileDescriptor.open(programs.file("notify-send"), O_WRONLY | O_CREAT).write(script)
            chmod(programs.file("notify-send"), 0o755)
            let input = try Pipe()
            let process = try Subprocess(
                [Programs.orielOfTests, "ask"],
                environment: [
                    "PATH": "\(programs.path):/usr/bin:/bin", "XDG_STATE_HOME": state.path,
                    "DBUS_SESSION_BUS_ADDRESS": "unix:path=/none",
                ],
                input: input.reading.raw
            )
            let knock = #"{"knocked":{"_0":{"id":7,"name":"Ann","note":"","address":"192.0.2.1"}}}"#
            try Posix.write(knock + "\n", to: input.writing.raw)
            try process.wait(until: "it answers") { process.output.contains("7") }
            #expect(process.output.contains("accept"), "\(process.output)")
            process.stop()
        }

        /// The key of TLS, where Oriel keeps it.
        private func makeKey(in state: TemporaryDirectory) throws {
            mkdir(state.file("oriel"), 0o700)
            try FileDescriptor.open(state.file("oriel/https.pem"), O_WRONLY | O_CREAT).write("a secret")
        }

        /// Invariant: confined.
        @Test func aCaptureProcessReachesNothingElse() throws {
            let command = ["start", "--display", server.display, "--dir", broadcast.directory]
            let environment = [
                "ORIEL_INTRUDER_MINE": folder.file("mine"), "ORIEL_INTRUDER_CAPTURES": "1",
                "ORIEL_INTRUDER_OWN": broadcast.directory,
            ]
            let tries = try intrude(command, environment)
            #expect(tries.contains("own:write") && tries.contains("tcp") && tries.count > 40)
        }

        /// Invariant: confined.
        @Test func aSoundProcessReachesNothingElse() throws {
            let environment = ["ORIEL_INTRUDER_MINE": folder.file("mine"), "ORIEL_INTRUDER_HEARS": "1"]
            let tries = try intrude(["hear", "--dir", broadcast.directory, "--sound", "mic"], environment)
            #expect(tries.contains("own:unix") && tries.contains("tcp") && tries.count > 35)
        }

        /// Invariant: confined.
        @Test(arguments: [[], ["--viewers-record"]]) func aRecorderHasItsFilesAlone(options: [String]) throws {
            let capture = try broadcast.start()
            let sender = try broadcast.attach(toPort: try Ports.free())
            defer { for process in [sender, capture] { process.stop() } }
            let files = try TemporaryDirectory()
            let environment = [
                "ORIEL_INTRUDER_MINE": folder.file("mine"), "ORIEL_INTRUDER_RECORDS": "1",
                "ORIEL_INTRUDER_OWN": files.path,
            ]
            let command = ["record", "--dir", broadcast.directory, "--to", files.path] + options
            let tries = try intrude(command, environment)
            #expect(tries.contains("own:write") && tries.contains("unix") && tries.contains("tcp"))
            #expect(tries.contains("read:outside") && tries.count > 40)
        }

        /// Invariant: confined.
        @Test func aServerOfRoomsReachesNothingElse() throws {
            let environment = ["ORIEL_INTRUDER_MINE": folder.file("mine"), "ORIEL_INTRUDER_LISTENS": "1"]
            let tries = try intrude(["rooms", "--listen", "127.0.0.1:0"], environment)
            #expect(tries.count > 35)
        }

        /// A window, which was decoded for, and has the screen.
        /// Invariant: untrustedMedia.
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

        /// The process that has the devices nearby: the local network and the pairs, and nothing else of this user.
        /// Invariant: confined.
        @Test func whatMeetsDevicesHasTheNetworkAndItsPairs() throws {
            let (state, network) = (try TemporaryDirectory(), try Network())
            let environment = [
                "ORIEL_INTRUDER_MINE": folder.file("mine"), "ORIEL_INTRUDER_MEETS": "1", "ORIEL_INTRUDER_ACCEPTS": "1",
                "ORIEL_INTRUDER_OWN": state.file("oriel/nearby"), "XDG_STATE_HOME": state.path,
            ]
            let command = ["nearby", "--watch", "--visible", "named"]
            let tries = try intrude(command, environment, at: network.atSender)
            #expect(tries.contains("own:write") && tries.contains("own:listen") && tries.contains("unix"))
            #expect(tries.contains("read:outside") && tries.count > 50)
        }

        /// Runs a command with the intruder, and expects that all it tried was refused.
        ///
        /// - Returns: what it tried.
        private func intrude(
            _ command: [String],
            _ environment: [String: String],
            input: Int32? = nil,
            at place: ([String]) -> [String] = { $0 }
        ) throws -> [String] {
            let own = ["LD_PRELOAD": try Programs.intruder.get(), "ORIEL_INTRUDER_OUTSIDE": folder.file("outside")]
            let process = try Subprocess(
                place([Programs.orielOfTests] + command),
                environment: environment.merging(own) { $1 },
                input: input
            )
            try process.wait(until: "the intruder is done") { process.errorOutput.contains("intruder done") }
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
}
