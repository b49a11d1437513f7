import FrameBridge
import Glibc
import Posix
import TestSupport
import Testing
import Time

extension Hear {
    /// The sound process with a real sound server: what is played and spoken there stands in the broadcast's sound.
    @Suite struct HearingTests {
        /// Invariant: soundClock.
        @Test(arguments: PulseServer.Program.allCases)
        func whatIsPlayedIsHeardAsItWas(program: PulseServer.Program) throws {
            let scene = try SoundScene("--sound", "monitor", of: PulseServer(program))
            try scene.waitUntilItHears()
            let words = try SoundClip.words("The sound of this machine is heard by all who look in.")
            func waitForSilence() throws {
                try wait(until: "nothing comes any more") {
                    scene.listener.clear()
                    MonotonicClock.sleep(for: .milliseconds(500))
                    return scene.listener.heard.blocks.isEmpty
                }
            }
            for clip in [SoundClip.sweep(lasting: 2, channels: 2), words] {
                let whole = clip.channel()
                func isAsItWas(_ heard: SoundListener.Heard) -> Bool {
                    let recording = heard.recording()
                    guard heard.lost == 0, heard.gaps == 0,
                        let found = SoundAnalysis.find(whole, in: recording), found.correlation > 0.99
                    else { return false }
                    let part = Array(recording[found.delay...].prefix(whole.count))
                    return SoundAnalysis.signalToNoise(of: whole, in: part) > 40
                }
                try wait(until: "all of it is heard as it was") {
                    try waitForSilence()
                    let before: Instant = MonotonicClock.now()
                    try scene.sound.play(clip).wait()
                    let heard = try scene.listener.heardUntilItRests()
                    // Blocks say when they were heard.
                    #expect(heard.blocks.allSatisfy { $0.channels == 2 && $0.capturedAt >= before })
                    #expect(heard.blocks.last?.capturedAt ?? before <= MonotonicClock.now() + .milliseconds(20))
                    if isAsItWas(heard), try scene.status().text.contains("\"is_resampled\":false") { return true }
                    // A process that does not get to run loses some of it, or stretches it into its place from then on.
                    try scene.restart("--sound", "monitor")
                    try scene.waitUntilItHears()
                    return false
                }
            }
            // Then there is nothing.
            try waitForSilence()
            let status = try scene.status()
            #expect(status.text.contains("speakers.monitor"))
            #expect(status.number("blocks_written") ?? 0 >= 100)
        }

        /// Invariant: muted.
        @Test(arguments: PulseServer.Program.allCases)
        func theMicrophoneIsHeardAndItIsTold(program: PulseServer.Program) throws {
            let events = try TemporaryDirectory()
            let sound = try PulseServer(program, microphones: [.init("mic", channels: 1)])
            let scene = try SoundScene("--sound", "mic", "--events", events.file("events"), of: sound)
            try scene.process.wait(until: "it is told") {
                scene.process.errorOutput.contains("the microphone is live: ")
            }
            #expect(try scene.status().isMicrophoneLive)
            try wait(until: "the status says so") {
                try scene.broadcast.run("status").output.contains("the microphone is live")
            }
            let words = try SoundClip.words("Somebody speaks.")
            var likeness = 0.0
            // Where the machine stood still, what comes next is stretched into its place for some seconds.
            try wait(until: "all of it is heard: \(likeness)") {
                scene.listener.clear()
                try scene.sound.speak(words, into: "mic").wait()
                let recording = try scene.listener.heardUntilItRests().recording()
                likeness = SoundAnalysis.find(words.channel(), in: recording)?.correlation ?? 0
                return likeness > 0.99
            }
            #expect(scene.listener.heard.blocks.allSatisfy { $0.channels == 1 })
            scene.process.kill(SIGTERM)
            #expect(try scene.process.wait() == .code(0))
            let lines = String(decoding: try contents(of: events.file("events")), as: UTF8.self)
            #expect(lines.contains("\"event\":\"microphone\"") && lines.contains("\"state\":\"live\""))
        }

        @Test func bothAreHeardTogether() throws {
            let scene = try SoundScene("--sound", "mix")
            let player = try scene.play(1000)
            let speaker = try scene.sound.speak(.tone(3000, lasting: 1, level: 0.125), into: "mic", repeating: true)
            defer {
                player.stop()
                speaker.stop()
            }
            try scene.wait(untilToneOf: 1000)
            try scene.wait(untilToneOf: 3000)
            // A tone that is being stretched into its place is of another frequency.
            var (first, second) = (0.0, [0.0])
            try wait(until: "both are as loud as they are: \(first), \(second) dB") {
                (first, second) = (try scene.level(of: 1000), try scene.levelsOfBeginning(3000))
                return abs(first + 12.04) < 1 && second.allSatisfy { abs($0 + 18.06) < 1 }
            }
            #expect(scene.listener.heard.blocks.allSatisfy { $0.channels == 2 })
        }

        /// A program in a terminal whose window is shown plays; another program is not heard, and what the first one plays later is.
        /// Invariant: oneProgram.
        @Test func aProgramIsHeardAndNoOther() throws {
            let folder = try TemporaryDirectory()
            let screen = try XServer()
            let sound = try PulseServer()
            for (name, frequency) in [("first", 1000.0), ("second", 2000)] {
                let clip = SoundClip.tone(frequency, lasting: 1)
                let bytes = clip.samples.withUnsafeBytes { Array($0) }
                try FileDescriptor.open(folder.file(name), O_WRONLY | O_CREAT).write(bytes, at: 0)
            }
            let player = "pacat -p --raw --format=s16le --rate=48000 --channels=1"
            func loop(_ name: String) -> String { "(while cat \(folder.file(name)); do :; done) | \(player)" }
            let script =
                "\(loop("first")) & while ! test -e \(folder.file("go")); do sleep 0.1; done; \(loop("second"))"
            let terminal = try Subprocess(
                ["xterm", "-display", screen.display, "-e", "bash", "-c", script],
                environment: sound.environment
            )
            defer { terminal.stop() }
            var window = ""
            try wait(until: "the window is there") {
                let list = try Subprocess.run([Programs.orielOfTests, "list", "--display", screen.display])
                window = String(list.firstMatch(of: /window\s+(0x[0-9a-f]+)/)?.1 ?? "")
                return !window.isEmpty
            }
            let scene = try SoundScene("--sound", "app", of: sound, on: screen, showing: ["--window", window])
            let other = try scene.play(3000)
            defer { other.stop() }
            try wait(until: "three play") { try scene.list("sink-inputs").count == 2 }
            try scene.wait(untilToneOf: 1000)
            #expect(try scene.level(of: 3000) < scene.level(of: 1000) - 60)
            close(open(folder.file("go"), O_WRONLY | O_CREAT, 0o600))
            try scene.wait(untilToneOf: 2000)
            var (levels, later) = ([0.0, 0], [0.0])
            try wait(until: "it is as loud as it is, and the other not heard: \(levels), \(later)") {
                levels = try [1000, 3000].map { try scene.level(of: $0) }
                later = try scene.levelsOfBeginning(2000)
                return abs(levels[0] + 12.04) < 1 && later.allSatisfy { abs($0 + 12.04) < 1 }
                    && levels[1] < levels[0] - 60
            }
        }

        @Test func withoutAWindowNoProgramIsHeardAndItIsTold() throws {
            let scene = try SoundScene("--sound", "app")
            try scene.process.wait(until: "it is told") { scene.process.errorOutput.contains("no program is heard") }
            let player = try scene.play(1000)
            defer { player.stop() }
            try wait(until: "it plays") { try !scene.list("sink-inputs").isEmpty }
            MonotonicClock.sleep(for: .milliseconds(500))
            #expect(scene.listener.heard.blocks.isEmpty)
            #expect(try scene.sound.recorders.isEmpty)
            #expect(scene.process.errorOutput.split(separator: "\n").count == 1, "\(scene.process.errorOutput)")
        }

        @Test func whatIsHeardChangesWhileOthersListen() throws {
            let scene = try SoundScene()
            #expect(try scene.status().state == "off" && scene.list("clients").allSatisfy { !$0.contains("Oriel") })
            #expect(try scene.broadcast.run("sound", "monitor").code == 0)
            let player = try scene.play(1000)
            let speaker = try scene.sound.speak(.tone(3000, lasting: 1), into: "mic", repeating: true)
            defer {
                player.stop()
                speaker.stop()
            }
            try scene.wait(untilToneOf: 1000)
            #expect(try scene.level(of: 3000) < -70)
            #expect(try scene.broadcast.run("sound", "mic").code == 0)
            // What was heard before is not heard any more.
            scene.listener.clear()
            try scene.wait(untilToneOf: 3000)
            #expect(try scene.level(of: 1000) < -70)
            #expect(try scene.broadcast.run("sound", "--volume", "300").code == 64)
            let devices = try CommandResult(
                [Programs.orielOfTests, "sound", "--list", "--dir", scene.broadcast.directory],
                environment: scene.sound.environment
            )
            #expect(devices.output.contains("microphone  mic  ") && devices.output.contains("output  speakers  "))
            #expect(try scene.broadcast.run("sound", "none").code == 0)
            #expect(try scene.sound.recorders.isEmpty)
            try wait(until: "it has left the sound server") {
                try scene.sound.pactl("list", "clients").contains("Oriel") == false
            }
        }

        @Test func devicesThatComeAndGoAreFollowed() throws {
            let scene = try SoundScene("--sound", "mix", "--microphone", "late")
            try scene.process.wait(until: "it is told") {
                scene.process.errorOutput.contains("there is no microphone late")
            }
            let first = try scene.play(1000, into: "speakers")
            defer { first.stop() }
            try scene.wait(untilToneOf: 1000)
            let input = try #require(scene.list("sink-inputs").first?.prefix { $0.isNumber })
            let second = try scene.play(2000, into: "headset")
            defer { second.stop() }
            try wait(until: "both play") { try scene.list("sink-inputs").count == 2 }
            try scene.sound.pactl("set-default-sink", "headset")
            // The server moves there what it plays in the former default sink.
            try scene.sound.pactl("move-sink-input", String(input), "speakers")
            try scene.wait(untilToneOf: 2000)
            try scene.wait(untilToneOf: 1000, isHeard: false)
            // The sink is unplugged: what it played goes on in the other, or ends.
            let module = try #require(scene.list("modules").first { $0.contains("sink_name=headset") })
            try scene.sound.pactl("unload-module", String(module.prefix { $0.isNumber }))
            try scene.wait(untilToneOf: 1000)
            // A microphone is plugged in.
            try scene.sound.pactl("load-module", "module-remap-source", "source_name=late", "master=mic-air.monitor")
            try wait(until: "it is live") { try scene.status().isMicrophoneLive }
            let speaker = try scene.sound.speak(.tone(3000, lasting: 1), into: "mic", repeating: true)
            defer { speaker.stop() }
            try scene.wait(untilToneOf: 3000)
            let told = scene.process.errorOutput.split(separator: "\n")
            #expect(told.count { $0.contains("there is no microphone late") } == 1)
        }

        /// Invariant: noSoundServer.
        @Test func aServerThatCrashesIsFoundAgain() throws {
            let scene = try SoundScene("--sound", "monitor")
            try scene.waitUntilItHears()
            try scene.sound.crash()
            try scene.process.wait(until: "it is told") { scene.process.errorOutput.contains("there is no sound") }
            #expect(try scene.status().state == "waiting")
            try scene.sound.restart()
            let player = try scene.play(1000)
            defer { player.stop() }
            try scene.wait(untilToneOf: 1000)
            #expect(scene.process.errorOutput.contains("the sound server is back"))
            #expect(scene.process.errorOutput.split(separator: "\n").count == 2, "\(scene.process.errorOutput)")
        }

        /// Invariant: noSoundServer.
        @Test func aServerThatHangsHoldsUpNobody() throws {
            let scene = try SoundScene("--sound", "monitor")
            try scene.waitUntilItHears()
            scene.sound.freeze()
            try scene.process.wait(until: "it is told") { scene.process.errorOutput.contains("it does not answer") }
            // Commands are answered meanwhile, and so is a request to end.
            #expect(try scene.status().state == "waiting")
            #expect(try scene.broadcast.run("mute").code == 0 && scene.broadcast.run("unmute").code == 0)
            scene.sound.thaw()
            let player = try scene.play(1000)
            defer { player.stop() }
            try scene.wait(untilToneOf: 1000)
            scene.sound.freeze()
            scene.process.kill(SIGTERM)
            #expect(try scene.process.wait() == .code(0))
            scene.sound.thaw()
        }

        /// The server of another machine, or one that listens to the network.
        @Test func aServerIsReachedByTheNetwork() throws {
            let port = try Ports.free()
            let sound = try PulseServer(
                modules: ["module-native-protocol-tcp port=\(port) listen=127.0.0.1 auth-anonymous=1"]
            )
            let scene = try SoundScene(of: sound)
            let process = try Subprocess(
                [Programs.orielOfTests, "hear", "--dir", scene.broadcast.folder.file("other"), "--sound", "monitor"],
                environment: ["PULSE_SERVER": "tcp:127.0.0.1:\(port)"]
            )
            defer { process.stop() }
            try process.wait(until: "it is told") { process.errorOutput.contains("reached by the network") }
            // There is no broadcast, so nothing is heard; but it is connected.
            try wait(until: "it is connected") {
                try sound.pactl("list", "clients").contains("application.process.id = \"\(process.pid)\"")
            }
        }
    }
}
