import Glibc
import TestSupport
import Testing

extension Refuse {
    /// What goes wrong ends with one sentence and the right exit code.
    @Suite struct BadInputTests {
        /// Arguments, exit code, and what the sentence must name.
        static let wrongCommandLines: [([String], Int32, String)] = [
            (["start", "--display", ":4711"], 69, ":4711"),
            (["start", "--display", "nowhere.invalid:0"], 69, "nowhere.invalid:0"),
            (["start", "--display", "rubbish"], 69, "rubbish"),
            (["start", "--region", "0x0+0+0"], 64, "0x0+0+0"),
            (["start", "--region", "10x10"], 64, "10x10"),
            (["start", "--region", "99999999999999999999x1+0+0"], 64, "99999999999999999999"),
            (["start", "--region", "10x10+0+0", "--monitor", "A"], 64, "--monitor"),
            (["start", "--fps", "0"], 64, "0"),
            (["start", "--name", "a/b"], 64, "a/b"),
            (["start", "--window", "0xg"], 64, "--window"),
            (["start", "--window", "1", "--monitor", "x"], 64, "exclude"),
            (["attach"], 64, "call"),
            (["attach", "http://127.0.0.1:5004"], 64, "whip+"), (["attach", "foo"], 64, "foo is no call: write web"),
            (["attach", "rtp://127.0.0.1"], 64, "port"),
            (["attach", "rtp://127.0.0.1:0"], 64, "1…65534"),
            (["attach", "rtp://127.0.0.1:70000"], 64, "1…65534"),
            (["attach", "rtp://::1:5004"], 64, "rtp://"),
            (["attach", "rtp://127.0.0.1:5004", "--size", "1281x720"], 64, "even"),
            (["attach", "rtp://127.0.0.1:5004", "--size", "2x2"], 64, "32"),
            (["attach", "rtp://127.0.0.1:5004", "--size", "x"], 64, "1280x720"),
            (["attach", "rtp://127.0.0.1:5004", "--vp8-profile", "2"], 64, "0 or 1"),
            (["attach", "rtp://127.0.0.1:5004", "--bitrate", "0"], 64, "30k"),
            (["attach", "rtp://127.0.0.1:5004", "--bitrate", "-5k"], 64, "bitrate"),
            (["attach", "rtp://127.0.0.1:5004", "--bitrate", "nan"], 64, "30k"),
            (["attach", "rtp://127.0.0.1:5004", "--codec", "h264"], 64, "h264"),
            (["attach", "rtp://127.0.0.1:5004", "--fps", "1000"], 64, "1000"),
            (["attach", "rtp://127.0.0.1:5004", "--dir", "/tmp/no-such-broadcast", "--no-wait"], 75, "oriel start"),
            (["attach", "web", "--token", "short"], 64, "20 random characters"),
            (["attach", "web", "--token", "nineteen-characters"], 64, "20 random characters"),
            (["attach", "web", "--token", "abababababababababababababab"], 64, "20 random characters"),
            (["attach", "web", "--allow-origin", "null"], 64, "https://HOST"),
            (["attach", "web", "--allow-origin", "https://a.example/path"], 64, "https://HOST"),
            (["attach", "web", "--proxy", "proxy.example"], 64, "10.0.0.0/8"),
            (["share", "--proxy", "10.0.0.0/33"], 64, "10.0.0.0/8"),
            (["attach", "web", "--token", "white space"], 64, "letters"),
            (["attach", "web", "--tls-cert", "a.pem"], 64, "--tls-key"),
            (["attach", "web", "--ports", "50100-50000"], 64, "50000-50100"),
            (["attach", "web", "--max-viewers", "0"], 64, "1 to 1000"),
            (["attach", "web", "--renditions", "0"], 64, "1 to 3"), (["share", "--renditions", "4"], 64, "1 to 3"),
            (["attach", "web", "--stun", "host:port"], 64, "stun.example.net:3478"),
            (["attach", "web", "--turn", "relay.example.net"], 64, "USER:PASSWORD@HOST"),
            (["attach", "web", "--listen", "::1:8080"], 64, "[IPV6]:PORT"),
            (["share", "--listen", "http://example.net"], 64, "8080"),
            (["share", "--listen", "0"], 64, "other than 0"),
            (["share", "--fps", "0"], 64, "0"),
            (["share", "--events", "/no/such/file"], 1, "cannot write /no/such/file"),
            (["share", "--stats", "/no/such/file"], 1, "cannot write /no/such/file"),
            (["attach", "web", "--no-wait", "--events", "/no/such/file"], 1, "cannot write /no/such/file"),
            (["status", "--dir", "/tmp/no-such-broadcast"], 75, ""),
            (["stop", "--dir", "/tmp/no-such-broadcast"], 75, "oriel start"),
            (["inspect", "--dir", "/tmp/no-such-broadcast"], 75, "oriel start"),
            (["list", "--display", ":4711"], 69, ":4711"),
            (["dance"], 64, "dance"),
        ]

        @Test(arguments: wrongCommandLines)
        func aWrongCommandLineIsRefused(arguments: [String], code: Int32, named: String) throws {
            let runtime = try TemporaryDirectory(of: .shared)
            let result = try CommandResult(
                [Programs.oriel] + arguments,
                environment: ["XDG_RUNTIME_DIR": runtime.path, "DISPLAY": ""]
            )
            #expect(result.code == code)
            #expect(named.isEmpty || result.errorOutput.contains(named), "\(result.errorOutput)")
            #expect(result.errorOutput.split(separator: "\n").count <= 1, "\(result.errorOutput)")
            // A random token may look like a name.
            #expect(swiftWords(in: result.errorOutput) == [])
            #expect(access(runtime.file("oriel/default/writer.lock"), F_OK) != 0, "nothing was begun")
        }

        @Test func noDisplayIsSaid() throws {
            let result = try CommandResult([Programs.oriel, "start"], environment: ["DISPLAY": ""])
            #expect(result.code == 69)
            #expect(result.errorOutput.contains("DISPLAY"))
        }

        /// Needs a server, but no broadcast comes of it.
        @Test(arguments: [
            (["--monitor", "NO-SUCH"], "NO-SUCH"), (["--region", "100x100+5000+0"], "5000"),
            (["--region", "1000x100+0+0"], "640x100"),
        ])
        func aSourceThatIsNotThereIsNamed(arguments: [String], named: String) throws {
            let server = try XServer()
            let broadcast = try Broadcast(on: server.display)
            let result = try CommandResult(
                [Programs.oriel, "start", "--display", server.display, "--dir", broadcast.directory] + arguments
            )
            #expect(result.code == 1)
            #expect(result.errorOutput.contains(named), "\(result.errorOutput)")
            #expect(result.errorOutput.split(separator: "\n").count == 1)
        }

        /// Invariant: oneWriter.
        @Test func aSecondStartLeavesTheFirstAlone() throws {
            let server = try XServer()
            let broadcast = try Broadcast(on: server.display)
            let capture = try broadcast.start()
            for extra in [[], ["--detach"]] {
                let second = try CommandResult(
                    [Programs.oriel, "start", "--display", server.display, "--dir", broadcast.directory] + extra
                )
                #expect(second.code == 1)
                #expect(second.errorOutput.contains("already runs"))
                #expect(second.errorOutput.contains("process \(capture.pid)"))
            }
            #expect(try broadcast.run("status").output.hasPrefix("active"))
            capture.stop()
        }

        @Test func aHostThatDoesNotResolveIsNamed() throws {
            let server = try XServer()
            let broadcast = try Broadcast(on: server.display)
            let capture = try broadcast.start()
            let result = try CommandResult([
                Programs.oriel, "attach", "rtp://no-such-host.invalid:5004", "--dir", broadcast.directory,
            ])
            #expect(result.code == 69)
            #expect(result.errorOutput.contains("no-such-host.invalid"))
            capture.stop()
        }

        @Test func aRuntimeDirectoryThatIsMissingOrOpenToOthersIsRefused() throws {
            let server = try XServer()
            let folder = try TemporaryDirectory(of: .shared)
            func start(in runtime: String) throws -> CommandResult {
                try CommandResult(
                    [Programs.oriel, "start", "--display", server.display],
                    environment: ["XDG_RUNTIME_DIR": runtime]
                )
            }
            let missing = try start(in: folder.file("missing"))
            #expect(missing.code == 1)
            #expect(missing.errorOutput.contains("XDG_RUNTIME_DIR"))

            mkdir(folder.file("oriel"), 0o700)
            OrdinaryUser.shared.own(folder.file("oriel"))
            chmod(folder.file("oriel"), 0o770)
            let shared = try start(in: folder.path)
            #expect(shared.code == 1)
            #expect(shared.errorOutput.contains("others"))

            if geteuid() == 0 {
                chmod(folder.file("oriel"), 0o700)
                chown(folder.file("oriel"), 65534, 65534)
                let foreign = try start(in: folder.path)
                #expect(foreign.code == 1)
                #expect(foreign.errorOutput.contains("65534"))
            }
        }

        @Test func aFullDiskIsSaidAndLeavesNothing() throws {
            let server = try XServer(.virtual(width: 1920, height: 1080))
            let folder = try TemporaryDirectory(of: .shared)
            // A file system of 1 MiB in a mount namespace of its own.
            let result = try CommandResult(
                commandLine(
                    of: """
                        "$2" start --display "$3" --dir "$1/bridge"
                        code=$?
                        ls "$1/bridge" | grep frames
                        exit $code
                        """,
                    onDiskOf: "1m",
                    at: folder,
                    server.display
                )
            )
            #expect(result.code == 1)
            #expect(result.errorOutput.contains("no space for 9 MiB"))
            #expect(!result.output.contains("frames"))
        }

        /// Ended by that, it would be started again, and show what was paused.
        /// Invariant: pauseNeedsNoDisk.
        @Test func aFullDiskEndsNoPause() throws {
            let server = try XServer(.virtual(width: 1920, height: 1080))
            let folder = try TemporaryDirectory(of: .shared)
            let result = try CommandResult(
                commandLine(
                    of: """
                        mkdir -m 700 "$1/bridge"
                        umask 077
                        printf 'abi=1.0\nstate=paused\nreason=\ngen=0\npid=1\ndata=\nstarted_ns=0\n' > "$1/bridge/status"
                        "$2" start --display "$3" --dir "$1/bridge" &
                        until grep -q "pid=$!" "$1/bridge/status" && "$2" status --dir "$1/bridge"; do sleep 0.05; done
                        "$2" resume --dir "$1/bridge" || true
                        "$2" status --dir "$1/bridge"
                        kill $!
                        wait $!
                        """,
                    onDiskOf: "1m",
                    at: folder,
                    server.display
                )
            )
            #expect(result.output.hasPrefix("paused"))
            #expect(result.errorOutput.contains("still paused"))
            #expect(result.errorOutput.contains("no space for 9 MiB"))
        }

        /// A screen that outgrows the disk keeps its last picture, and goes on when it has shrunk again.
        @Test func aDiskThatFillsLaterEndsNothing() throws {
            let server = try XServer(.vnc(width: 640, height: 480))
            let folder = try TemporaryDirectory(of: .shared)
            let capture = try Subprocess(
                commandLine(
                    of: "exec \"$2\" start --display \"$3\" --dir \"$1/bridge\"",
                    onDiskOf: "4m",
                    at: folder,
                    server.display
                )
            )
            try capture.wait(until: "it shares the screen") { capture.errorOutput.contains("sharing") }
            try server.xrandr("--fb", "1920x1080")
            try capture.wait(until: "it says what is wrong") { capture.errorOutput.contains("no space for 9 MiB") }
            try server.xrandr("--fb", "640x480")
            try capture.wait(until: "it goes on") { capture.errorOutput.contains("can be written again") }
            #expect(capture.status() == nil)
            capture.kill(SIGTERM)
            #expect(try capture.wait() == .code(0))
        }

        /// A source that outgrows the disk is refused, and the one before goes on.
        @Test func aSourceTooLargeForTheDiskIsRefused() throws {
            let server = try XServer(.virtual(width: 1920, height: 1080))
            let folder = try TemporaryDirectory(of: .shared)
            let result = try CommandResult(
                commandLine(
                    of: """
                        "$2" start --display "$3" --dir "$1/bridge" --region 320x200+0+0 & capture=$!
                        until "$2" status --dir "$1/bridge" 2> /dev/null | grep -q ^active; do sleep 0.05; done
                        "$2" source --dir "$1/bridge"
                        echo $?
                        "$2" status --dir "$1/bridge"
                        "$2" source --region 322x200+5+5 --dir "$1/bridge"
                        echo $?
                        "$2" status --dir "$1/bridge"
                        kill $capture
                        wait $capture
                        """,
                    onDiskOf: "2m",
                    at: folder,
                    server.display
                )
            )
            #expect(result.code == 0)
            let lines = result.output.split(separator: "\n")
            #expect(lines.count >= 4 && lines[0] == "1" && lines[1].hasPrefix("active"), "\(result.output)")
            #expect(lines.dropFirst(2).contains("0") && result.output.contains("322x200,"), "\(result.output)")
            #expect(result.errorOutput.contains("no space for 9 MiB"), "\(result.errorOutput)")
            #expect(result.errorOutput.contains("region 320x200+0+0 is shown as before"), "\(result.errorOutput)")
        }

        /// A sender that meets a damaged frames file says so, goes on, and recovers when the broadcast is started again.
        @Test func aDamagedFramesFileIsSaidAndSurvived() throws {
            let server = try XServer()
            let broadcast = try Broadcast(on: server.display)
            let capture = try broadcast.start()
            let sender = try broadcast.attach(toPort: Ports.free())
            let name = try #require(
                try Subprocess.run(["ls", broadcast.directory]).split(separator: "\n").first { $0.hasPrefix("frames.") }
            )
            // A frame waits for the sender, and the capture process cannot mend the file before that looks.
            try sender.suspend()
            /// Such as `slot 1  sequence 2, frame 7`.
            func latest() throws -> Substring? {
                let slot = try broadcast.run("inspect").output.split(separator: "\n").first { $0.contains("<- latest") }
                return slot?.split(separator: "captured")[0]
            }
            let before = try latest()
            try Subprocess.run(["xsetroot", "-solid", "red"], environment: server.environment)
            try wait(until: "another frame is there") { try latest() != before }
            try capture.suspend()
            truncate("\(broadcast.directory)/\(name)", 0)
            sender.kill(SIGCONT)
            try sender.wait(until: "the sender says what it found") { sender.errorOutput.contains("damaged") }
            capture.kill(SIGCONT)
            try Subprocess.run(["xsetroot", "-solid", "green"], environment: server.environment)
            try wait(until: "a new generation is read") {
                try broadcast.run("inspect").output.contains("<- latest") && sender.status() == nil
            }
            #expect(capture.status() == nil)
            sender.stop()
            capture.stop()
        }
    }
}
