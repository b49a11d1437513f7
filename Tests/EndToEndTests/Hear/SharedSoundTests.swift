import Glibc
import Posix
import TestSupport
import Testing
import Time

extension Hear {
    /// `oriel share` with sound: the third process.
    @Suite struct SharedSoundTests {
        private func child(of shared: SharedScreen) throws -> pid_t? { try shared.child("hear") }

        @Test func aCrashedSoundProcessIsStartedAgain() throws {
            let sound = try PulseServer(microphones: [.init("mic", channels: 1)], of: .shared)
            let shared = try SharedScreen("--sound", "mix", environment: sound.environment)
            defer { shared.process.stop() }
            func run(_ words: String...) throws -> CommandResult {
                try CommandResult([Programs.oriel, words[0]] + shared.broadcast + words.dropFirst())
            }
            try wait(until: "it hears") {
                try sound.recorders.count == 2
            }
            // What is wished for and not there is told at once.
            let missing = try run("sound", "mic", "--microphone", "nosuch")
            #expect(missing.code == 69 && missing.errorOutput.contains("there is no microphone nosuch"))
            #expect(try run("sound", "--microphone", "").errorOutput == "")
            // What was changed and muted since the start stays so.
            #expect(try run("sound", "mic").code == 0 && run("mute").code == 0)
            for _ in 0..<2 {
                let before = try #require(try child(of: shared))
                kill(before, SIGKILL)
                try wait(until: "it runs again") { try child(of: shared).map { $0 != before } ?? false }
                try wait(until: "it answers") { try run("sound").code == 0 }
                #expect(try run("sound").output.contains("mic, muted"))
            }
            #expect(try sound.recorders.isEmpty)
            #expect(try run("unmute").code == 0)
            try wait(until: "it hears") {
                try sound.recorders.count == 1
            }
            let children = try ["start", "attach", "hear"].map { try #require(try shared.child($0)) }
            #expect(try run("stop").code == 0)
            #expect(try shared.process.wait() == .code(0))
            for child in children { #expect(kill(child, 0) != 0) }
        }

        /// Invariant: noSoundServer.
        @Test func withoutASoundServerTheScreenIsShared() throws {
            let shared = try SharedScreen(
                "--sound",
                "monitor",
                environment: ["PULSE_SERVER": "unix:/nonexistent/socket"]
            )
            try shared.process.wait(until: "it is told") {
                shared.process.errorOutput.contains("there is no sound, as no sound server")
            }
            #expect(try shared.view().connected)
            let status = try CommandResult([Programs.oriel, "status"] + shared.broadcast)
            #expect(status.code == 0 && status.output.contains("sound: monitor waiting"))
            shared.process.kill(SIGINT)
            #expect(try shared.process.wait() == .code(0))
        }

        /// One that has never had one, and names of devices that are empty, as scripts make them.
        @Test func aMachineWithoutSoundIsToldInOneSentence() throws {
            let folder = try TemporaryDirectory(of: .shared)
            let runtime = folder.file("run")
            try Subprocess.run(OrdinaryUser.shared.running(["mkdir", "-m", "700", runtime]))
            let shared = try SharedScreen(
                "--sound=mix",
                "--microphone",
                "",
                "--output",
                "",
                environment: ["XDG_RUNTIME_DIR": runtime],
                shell: "unset PULSE_SERVER; exec \"$@\""
            )
            try shared.process.wait(until: "it is told") {
                shared.process.errorOutput.contains("there is no sound, as no sound server")
            }
            let process = try #require(try child(of: shared))
            // It tries again every few seconds.
            sleep(7)
            let told = shared.process.errorOutput.split(separator: "\n").filter { !$0.hasPrefix("oriel: ") }
            #expect(told == [])
            #expect(access("\(runtime)/pulse", F_OK) == 0)
            #expect(try child(of: shared) == process)
            shared.process.kill(SIGINT)
            #expect(try shared.process.wait() == .code(0))
        }

        /// A machine that kills all of them ends no mute.
        /// Invariant: muted.
        @Test func aMuteOutlivesAllProcesses() throws {
            let sound = try PulseServer(of: .shared)
            let folder = try TemporaryDirectory(of: .shared)
            let screen = try XServer()
            func run(_ words: String...) throws -> CommandResult {
                try CommandResult([Programs.oriel, words[0], "--dir", folder.file("bridge")] + words.dropFirst())
            }
            func share() throws -> Subprocess {
                let command = [Programs.oriel, "share", "--display", screen.display, "--dir", folder.file("bridge")]
                return try Subprocess(
                    command + ["--sound", "monitor", "--listen", "127.0.0.1:\(Ports.free())"],
                    environment: sound.environment
                )
            }
            let shared = try share()
            try wait(until: "it hears: \(shared.errorOutput)") {
                try run("status").output.contains("sound: monitor hearing")
            }
            #expect(try run("mute").code == 0)
            let children = try ["start", "attach", "hear"].map { command in
                try #require(try SharedScreen.child(command, of: shared.pid))
            }
            // One that ends without its children has them say goodbye.
            try shared.suspend()
            for process in children + [shared.pid] { kill(process, SIGKILL) }
            try shared.wait()
            let again = try share()
            try wait(until: "it is muted: \(again.errorOutput)") {
                try run("status").output.contains("sound: monitor muted")
            }
            #expect(try sound.recorders.isEmpty)
            again.kill(SIGINT)
            #expect(try again.wait() == .code(0))
        }

        /// Of broadcasts that are made by hand: whoever dies, only the end of one ends a mute.
        @Test func aMuteEndsWithTheBroadcast() throws {
            let sound = try PulseServer(of: .shared)
            let folder = try TemporaryDirectory(of: .shared)
            let screen = try XServer()
            let place = ["--dir", folder.file("bridge")]
            func run(_ command: String) throws -> CommandResult {
                try CommandResult([Programs.oriel, command] + place)
            }
            func start() throws -> Subprocess {
                let capture = try Subprocess([Programs.oriel, "start", "--display", screen.display] + place)
                try capture.wait(until: "it is live") { try run("status").output.hasPrefix("active") }
                return capture
            }
            func hear() throws -> Subprocess {
                let command = [Programs.oriel, "hear", "--sound", "monitor"]
                let hearing = try Subprocess(command + place, environment: sound.environment)
                try wait(until: "it answers: \(hearing.errorOutput)") { try run("sound").code == 0 }
                return hearing
            }
            func mute(_ hearing: Subprocess) throws {
                #expect(try run("mute").code == 0)
                hearing.kill(SIGKILL)
                try hearing.wait()
            }
            // `stop` kills what takes its time, and a broadcast that is killed has not ended.
            func end(_ capture: Subprocess) throws {
                capture.kill(SIGTERM)
                try capture.wait()
            }
            // Before the broadcast begins.
            try mute(hear())
            var capture = try start()
            var hearing = try hear()
            #expect(hearing.errorOutput.contains("still muted"))
            // It ends while no sound process is there, and while one is.
            try mute(hearing)
            try end(capture)
            for _ in 0..<2 {
                capture = try start()
                hearing = try hear()
                try wait(until: "it hears: \(hearing.errorOutput)") {
                    try run("status").output.contains("sound: monitor hearing")
                }
                #expect(try run("mute").code == 0)
                try end(capture)
                #expect(try hearing.wait() == .code(0))
            }
        }

        @Test func nothingIsMutedInAnotherBroadcast() throws {
            let sound = try PulseServer(of: .shared)
            let folder = try TemporaryDirectory(of: .shared)
            let screen = try XServer()
            for _ in 0..<2 {
                let command = [Programs.oriel, "share", "--display", screen.display, "--dir", folder.file("bridge")]
                let port = try Ports.free()
                let shared = try Subprocess(
                    command + ["--sound", "monitor", "--listen", "127.0.0.1:\(port)"],
                    environment: sound.environment
                )
                func run(_ words: String...) throws -> CommandResult {
                    try CommandResult([Programs.oriel, words[0], "--dir", folder.file("bridge")] + words.dropFirst())
                }
                try wait(until: "it hears: \(shared.errorOutput)") {
                    try run("status").output.contains("sound: monitor hearing")
                }
                #expect(try run("mute").code == 0)
                shared.kill(SIGINT)
                #expect(try shared.wait() == .code(0))
            }
        }
    }
}
