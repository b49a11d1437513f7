import Glibc
import Posix
import TestSupport
import Testing

/// `oriel share`: both processes by one command.
extension Recover {
    @Suite struct ShareTests {
        @Test func oneCommandSharesAndCtrlCEndsAll() throws {
            let shared = try SharedScreen()
            #expect(shared.token.utf8.count == 22)
            #expect(try shared.view().connected)
            try shared.process.wait(until: "the viewer is told of") {
                shared.process.errorOutput.contains("viewer 1 looks in from 10.99.0.2")
            }
            try shared.process.wait(until: "and its going") {
                shared.process.errorOutput.contains("viewer 1 from 10.99.0.2 left")
            }
            let children = try [shared.child("start"), shared.child("attach")]
            shared.process.kill(SIGINT)
            #expect(try shared.process.wait() == .code(0))
            for child in children { #expect(kill(try #require(child), 0) != 0) }
        }

        @Test(arguments: ["start", "attach"])
        func aCrashedHalfIsStartedAgain(command: String) throws {
            let shared = try SharedScreen()
            let before = try #require(try shared.child(command))
            kill(before, SIGKILL)
            try wait(until: "it runs again") { try shared.child(command).map { $0 != before } ?? false }
            try shared.process.wait(until: "it is told") {
                shared.process.errorOutput.contains("ended by signal 9: starting it again")
            }
            try wait(until: "a viewer connects") { try shared.view().connected }
            shared.process.stop()
        }

        /// A person paused it, and only a person goes on.
        @Test func aPauseOutlivesTheCaptureProcess() throws {
            let shared = try SharedScreen()
            let bridge = shared.folder.file("bridge")
            func run(_ command: String, _ arguments: String...) throws -> CommandResult {
                try CommandResult([Programs.oriel, command, "--dir", bridge] + arguments)
            }
            #expect(try run("pause").code == 0)
            let before = try #require(try shared.child("start"))
            let slate = try run("inspect", "--png", shared.folder.file("before.png"))
            #expect(slate.code == 0)
            kill(before, SIGKILL)
            try wait(until: "it runs again and says so") {
                try shared.child("start").map { $0 != before } ?? false
                    && shared.process.errorOutput.contains("still paused")
            }
            #expect(try run("status").output.hasPrefix("paused"))
            try wait(until: "the slate is there") {
                try run("inspect", "--png", shared.folder.file("after.png")).code == 0
            }
            #expect(try contents(of: shared.folder.file("after.png")) == contents(of: shared.folder.file("before.png")))
            #expect(try shared.view().connected)
            #expect(try run("resume").code == 0)
            #expect(try run("status").output.hasPrefix("active"))
            shared.process.stop()
        }

        /// What a person took out of sight does not come back by itself.
        @Test func whatWasChosenLastOutlivesTheCaptureProcess() throws {
            let shared = try SharedScreen()
            func run(_ command: String, _ arguments: String...) throws -> CommandResult {
                try CommandResult([Programs.oriel, command, "--dir", shared.folder.file("bridge")] + arguments)
            }
            #expect(try run("source", "--region", "200x100+5+5").code == 0)
            for _ in 0..<2 {
                let before = try #require(try shared.child("start"))
                kill(before, SIGKILL)
                try wait(until: "it runs again") {
                    try shared.child("start").map { $0 != before } ?? false
                        && run("status").output.hasPrefix("active")
                }
                let status = try run("status").output
                #expect(status.contains("region 200x100+5+5 of") && status.contains("200x100,"), "\(status)")
            }
            shared.process.stop()
        }

        /// As nohup starts it.
        @Test func itOutlivesATerminalIfToldTo() throws {
            let shared = try SharedScreen(shell: "trap '' HUP; exec \"$@\"")
            let children = try [shared.child("start"), shared.child("attach")].map { try #require($0) }
            for pid in children + [shared.process.pid] { kill(pid, SIGHUP) }
            #expect(try shared.view().connected)
            #expect(try [shared.child("start"), shared.child("attach")] == children)
            shared.process.stop()
        }

        /// Otherwise what it says would go where it should not, such as to the X server.
        @Test func itWorksWithoutStandardStreams() throws {
            let server = try XServer()
            let folder = try TemporaryDirectory(of: .shared)
            let bridge = folder.file("bridge")
            let capture = try Subprocess([
                "sh", "-c", "exec \"$@\" <&- >&- 2>&-", "sh", Programs.oriel, "start", "--display", server.display,
                "--dir",
                bridge,
            ])
            try wait(until: "there is a picture") {
                try CommandResult([Programs.oriel, "inspect", "--dir", bridge, "--png", folder.file("a.png")]).code == 0
            }
            for descriptor in 0...2 {
                let path = try Subprocess.run(["readlink", "/proc/\(capture.pid)/fd/\(descriptor)"])
                #expect(path.hasPrefix("/dev/null"))
            }
            capture.stop()
        }

        /// Such as a terminal that Ctrl-S has stopped.
        @Test func messagesThatNobodyTakesHoldNothingUp() throws {
            let server = try XServer()
            let folder = try TemporaryDirectory(of: .shared)
            let bridge = folder.file("bridge")
            let pipe = try Pipe()
            let capture = try Subprocess([
                "sh", "-c", "exec 2> \"$0\"; head -c 65536 /dev/zero >&2; exec \"$@\"",
                "/proc/\(getpid())/fd/\(pipe.writing.raw)", Programs.oriel, "start", "--display", server.display,
                "--dir",
                bridge,
            ])
            func run(_ command: String) throws -> CommandResult {
                try CommandResult([Programs.oriel, command, "--dir", bridge])
            }
            try capture.wait(until: "it is live") { isBroadcast(in: bridge, "active") }
            #expect(try run("pause").code == 0)
            #expect(try run("resume").code == 0)
            #expect(try run("stop").code == 0)
            #expect(try capture.wait() == .code(0))
        }

        /// Nor do results: deaths and signals are noticed, and the link comes when it is taken.
        @Test func aLinkThatNobodyTakesHoldsNothingUp() throws {
            let server = try XServer()
            let folder = try TemporaryDirectory(of: .shared)
            let bridge = folder.file("bridge")
            let pipe = try Pipe()
            let port = try Ports.free()
            let shared = try Subprocess([
                "sh", "-c", "exec > \"$0\"; head -c 65536 /dev/zero; exec \"$@\"",
                "/proc/\(getpid())/fd/\(pipe.writing.raw)", Programs.oriel, "share", "--display", server.display,
                "--dir",
                bridge, "--listen", "127.0.0.1:\(port)",
            ])
            try shared.wait(until: "it is live") { isBroadcast(in: bridge, "active") }
            let connect = "import socket; socket.create_connection(('127.0.0.1', \(port)))"
            try wait(until: "the link waits to be read") {
                (try? Subprocess.run(["/usr/bin/python3", "-c", connect])) != nil
            }
            kill(try #require(try SharedScreen.child("attach", of: shared.pid)), SIGKILL)
            try shared.wait(until: "its death is noticed") {
                shared.errorOutput.contains("the sender ended by signal 9")
            }
            var output: [UInt8] = []
            try wait(until: "the link is there") {
                var buffer = [UInt8](repeating: 0, count: 65536)
                var item = pollfd(fd: pipe.reading.raw, events: Int16(POLLIN), revents: 0)
                if poll(&item, 1, 0) == 1 {
                    let count = read(pipe.reading.raw, &buffer, buffer.count)
                    output += buffer.prefix(max(0, count))
                }
                return output.dropFirst(65536).contains(UInt8(ascii: "#"))
            }
            shared.kill(SIGINT)
            #expect(try shared.wait() == .code(0))
        }

        @Test func theWildcardAddressIsNoLink() throws {
            let shared = try SharedScreen("--listen", "0.0.0.0:8080")
            #expect(shared.process.output.hasPrefix("http://\(Network.senderAddress):8080/#"))
            #expect(shared.process.output.split(separator: "#").count == 2)
            shared.process.stop()
        }

        /// User names of time-limited credentials hold a colon. Viewers are told of them with the answer.
        @Test func credentialsOfARelayMayBeEscaped() throws {
            let shared = try SharedScreen("--turn", "17%3Abob:p%3Fs%40%25@192.0.2.1:3478")
            let post = """
                import sys, urllib.request as u
                url, token, offer = sys.argv[1:]
                headers = {'Content-Type': 'application/sdp', 'Authorization': 'Bearer ' + token}
                print(u.urlopen(u.Request(url, open(offer, 'rb').read(), headers)).headers['Link'])
                """
            let answer = try Subprocess.run(
                shared.network.atViewer([
                    "/usr/bin/python3", "-c", post, "http://\(Network.senderAddress):8080/whep", shared.token,
                    Counterparts.path("../WebRTCTests/SDP/Offers/chromium.sdp"),
                ])
            )
            #expect(answer.contains("username=\"17:bob\"; credential=\"p?s@%\""), "\(answer)")
            shared.process.stop()
        }

        @Test func stopEndsAll() throws {
            let shared = try SharedScreen()
            #expect(try CommandResult([Programs.oriel, "stop", "--dir", shared.folder.file("bridge")]).code == 0)
            #expect(try shared.process.wait() == .code(0))
        }

        @Test func aKilledSupervisorTakesBothHalvesWithIt() throws {
            let shared = try SharedScreen()
            let children = try [shared.child("start"), shared.child("attach")].map { try #require($0) }
            shared.process.kill(SIGKILL)
            try wait(until: "both are gone") { children.allSatisfy { kill($0, 0) != 0 || isZombie($0) } }
        }

        @Test func whatCannotWorkEndsWithItsCode() throws {
            let folder = try TemporaryDirectory(of: .shared)
            let command = [Programs.oriel, "share", "--dir", folder.file("bridge")]
            #expect(try CommandResult(command + ["--display", ":4711"]).code == 69)
            let server = try XServer()
            let cases: [[String]] = [
                ["--listen", "192.0.2.1:8080"], ["--tls-cert", "/nonexistent", "--tls-key", "/nonexistent"],
            ]
            for arguments in cases {
                let result = try CommandResult(command + ["--display", server.display] + arguments)
                #expect(result.code == 1)
                #expect(result.errorOutput.contains("oriel: cannot"), "\(result.errorOutput)")
            }
        }

        /// No new privileges and a filter for system calls, in both; a container has given one to all three.
        @Test func bothHalvesGiveUpWhatTheyDoNotNeed() throws {
            let shared = try SharedScreen()
            let before = try status(of: shared.process.pid, "Seccomp_filters") ?? "0"
            for command in ["start", "attach"] {
                let child = try #require(try shared.child(command))
                try wait(until: "it has a filter of its own") {
                    try status(of: child, "Seccomp_filters").flatMap { Int($0) } == Int(before)! + 1
                }
                #expect(try status(of: child, "NoNewPrivs") == "1")
            }
            shared.process.stop()
        }

        /// Who ignores SIGCHLD passes that on.
        @Test func aCrashIsNoticedWhateverTheParentIgnored() throws {
            let shared = try SharedScreen(shell: "trap '' CHLD; exec \"$@\"")
            kill(try #require(try shared.child("attach")), SIGKILL)
            try shared.process.wait(until: "it is told") {
                shared.process.errorOutput.contains("ended by signal 9: starting it again")
            }
            shared.process.stop()
        }

        @Test func whatFailsAgainAndAgainAfterACrashEndsWithItsCode() throws {
            let folder = try TemporaryDirectory(of: .shared)
            let (key, certificate) = try makeCertificate(for: ["oriel.test"], in: folder)
            let shared = try SharedScreen("--tls-cert", certificate, "--tls-key", key)
            unlink(certificate)
            kill(try #require(try shared.child("attach")), SIGKILL)
            // Each try comes later than the one before.
            #expect(try shared.process.wait() == .code(1))
        }

        /// A capture process that dies while the X server is away waits for it as the one before did.
        @Test func anXServerThatIsAwayTooIsWaitedFor() throws {
            var server = try XServer(display: ":\(Int.random(in: 1000..<50_000))")
            let shared = try SharedScreen(of: server)
            func status() throws -> String { try CommandResult([Programs.oriel, "status"] + shared.broadcast).output }
            let before = try #require(try shared.child("start"))
            try server.crash()
            try wait(until: "the source is lost") { try status().hasPrefix("source_lost") }
            kill(before, SIGKILL)
            try wait(until: "another process waits") {
                try shared.child("start").map { $0 != before } ?? false && status().hasPrefix("source_lost")
            }
            server = try XServer(display: server.display)
            try wait(until: "the source is back") { try status().hasPrefix("active") }
            #expect(try shared.view().connected)
            shared.process.stop()
        }

        @Test func theLinkIsPrintedOnceAlsoIfTheFirstSenderCrashed() throws {
            let early = try SharedScreen(
                shell: """
                    "$@" & share=$!
                    trap 'kill $share; wait $share; exit' TERM
                    until sender=$(pgrep -P $share -f 'oriel attach'); do sleep 0.01; done
                    kill -KILL $sender
                    wait $share
                    """
            )
            try early.process.wait(until: "it is told") {
                early.process.errorOutput.contains("the sender ended by signal 9")
            }
            try wait(until: "a viewer connects") { try early.view().connected }
            #expect(early.process.output.split(separator: "#").count == 2)
            early.process.stop()
            let late = try SharedScreen()
            kill(try #require(try late.child("attach")), SIGKILL)
            try wait(until: "a viewer connects") { try late.view().connected }
            #expect(late.process.output.split(separator: "#").count == 2)
            late.process.stop()
        }

        /// Otherwise the screen would stay shared with nobody to end it.
        @Test func ctrlZChangesNothing() throws {
            let shared = try SharedScreen()
            shared.process.kill(SIGTSTP)
            #expect(try shared.view().connected)
            shared.process.kill(SIGINT)
            #expect(try shared.process.wait() == .code(0))
        }

        /// Command lines can be read by all, and an environment for as long as its process runs.
        /// Invariant: token.
        @Test func secretsAreInNoEnvironment() throws {
            let secret = "user:s3cret@192.0.2.1:3478"
            let shared = try SharedScreen(environment: ["ORIEL_TURN": secret, "ORIEL_TOKEN": "a-t0ken-of-the-tests"])
            #expect(shared.token == "a-t0ken-of-the-tests")
            for command in ["start", "attach", "hear"] {
                let pid = try #require(try shared.child(command))
                for file in ["cmdline", "environ"] {
                    let text = String(decoding: try contents(of: "/proc/\(pid)/\(file)"), as: UTF8.self)
                    #expect(!text.isEmpty && !text.contains("s3cret") && !text.contains("t0ken"))
                }
                // Settings are read once.
                try wait(until: "the \(command) process has read its settings") {
                    try !Subprocess.run(["ls", "-l", "/proc/\(pid)/fd"]).contains("oriel-settings")
                }
            }
            shared.process.stop()
        }

        private func status(of pid: pid_t, _ name: String) throws -> String? {
            let lines = String(decoding: try contents(of: "/proc/\(pid)/status"), as: UTF8.self).split(separator: "\n")
            return lines.first { $0.hasPrefix("\(name):\t") }.map { String($0.dropFirst(name.count + 2)) }
        }

        private func isZombie(_ pid: pid_t) -> Bool {
            guard let stat = try? contents(of: "/proc/\(pid)/stat") else { return true }
            return String(decoding: stat, as: UTF8.self).contains(") Z")
        }
    }
}
