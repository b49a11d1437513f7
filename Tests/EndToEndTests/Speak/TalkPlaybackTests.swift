import FrameBridge
import Glibc
import Posix
import Synchronization
import TestSupport
import Testing
import Time

extension Speak {
    /// What peers say is played. The test is the sender, and writes what its peers would say.
    @Suite struct TalkPlaybackTests {
        /// Writes a tone, 10 ms each 10 ms, until it is stopped.
        private final class Talker: Sendable {
            private let isEnding = Atomic(false)
            private let thread = Mutex<Posix.Thread?>(nil)

            init(in directory: String, _ frequency: Double) throws {
                let folder = try ProcessFolder(.sender, in: BridgeDirectory(path: directory, create: false))
                try thread.withLock { thread in
                    thread = try Posix.Thread { [self] in run(folder, frequency) }
                }
            }

            private func run(_ folder: ProcessFolder, _ frequency: Double) {
                guard var writer = try? SoundWriter(talkIn: folder) else { return }
                let tone = SoundClip.tone(frequency, lasting: 1).samples
                var (at, count): (Instant, Int) = (MonotonicClock.now(), 0)
                while !isEnding.load(ordering: .acquiring) {
                    let part = count * SoundBlock.samples % tone.count
                    let block = Array(tone[part..<part + SoundBlock.samples])
                    try? writer.write(block.span, channels: 1, capturedAt: at, follows: count > 0)
                    count += 1
                    at += SoundBlock.duration
                    MonotonicClock.sleep(until: at)
                }
            }

            func stop() {
                isEnding.store(true, ordering: .releasing)
                thread.withLock { $0.take() }?.join()
            }
        }

        /// The level of a tone in one channel of what is recorded from now on, in dB. What is played a little faster is of another frequency,
        /// which a tenth of a second does not tell of a low tone. Servers mix two channels to one in two ways.
        private func level(of frequency: Double, in recording: SoundRecording) throws -> Double {
            let start = recording.duration
            let sound = try recording.sound(lasting: .seconds(start + 0.3)).part(start + 0.2..<start + 0.3)
            return SoundAnalysis.level(of: frequency, in: sound.channel())
        }

        /// Invariant: oneProgram.
        @Test(arguments: PulseServer.Program.allCases)
        func itIsPlayedAndNotHeardByThoseWhoSayIt(program: PulseServer.Program) throws {
            let sound = try PulseServer(program, speakers: [.init("speakers"), .init("headset")])
            let scene = try SoundScene("--sound", "monitor", of: sound)
            let player = try scene.play(1000)
            defer { player.stop() }
            try scene.wait(untilToneOf: 1000)
            #expect(try scene.list("sink-inputs").count == 1, "without talk, nothing is played")
            let recording = try scene.sound.record("speakers.monitor", channels: 2)
            let talker = try Talker(in: scene.broadcast.directory, 500)
            func recorded() throws -> Double { try level(of: 500, in: recording) }
            try wait(until: "it is played") { abs(try recorded() + 12.04) < 1 }
            let streams = try scene.sound.pactl("list", "sink-inputs")
            #expect(streams.contains("media.role = \"phone\"") && streams.contains("filter.want = \"echo-cancel\""))
            try wait(until: "the machine is heard without it") {
                try scene.level(of: 1000) > -20 && scene.level(of: 500) < -72
            }
            // Half as loud by the ear is an eighth in samples: 18 dB.
            #expect(try scene.broadcast.run("sound", "--volume", "128").code == 0)
            try wait(until: "it is softer") { abs(try recorded() + 30.04) < 1 }
            #expect(try scene.broadcast.run("sound", "--volume", "0").code == 0)
            try wait(until: "it is not heard") { try recorded() < -72 }
            #expect(try scene.broadcast.run("sound", "--volume", "255", "--output", "headset").code == 0)
            let elsewhere = try scene.sound.record("headset.monitor", channels: 2)
            try wait(until: "it is played elsewhere") {
                try level(of: 500, in: elsewhere) > -20
            }
            try wait(until: "the machine is heard") { try scene.level(of: 1000) > -20 }
            talker.stop()
            try wait(until: "nothing is played any more") { try scene.list("sink-inputs").count == 1 }
        }

        /// A machine that does not let this process run in time gets more time, at the price of latency.
        @Test func speakersThatWaitGetMoreAtOnce() throws {
            let scene = try SoundScene("--sound", "none")
            let talker = try Talker(in: scene.broadcast.directory, 3000)
            defer { talker.stop() }
            func latency() throws -> Double? {
                let text = try scene.sound.pactl("list", "sink-inputs")
                return text.firstMatch(of: /Buffer Latency: ([0-9]+) usec/).flatMap { Double($0.1) }
            }
            /// The most that waits in the server within some looks.
            func mostLatency() throws -> Double { try (0..<10).compactMap { _ in try latency() }.max() ?? 0 }
            try wait(until: "it is played") { try latency() != nil }
            try wait(until: "40 ms wait") {
                try scene.process.suspend()
                MonotonicClock.sleep(for: .milliseconds(200))
                scene.process.kill(SIGCONT)
                MonotonicClock.sleep(for: .milliseconds(1000))
                return try mostLatency() > 20_000
            }
        }

        /// A server that has a canceller of echoes puts it between both devices and this process.
        @Test func aCancellerOfTheServerIsUsed() throws {
            let scene = try SoundScene("--sound", "none")
            // As the server's own configuration has them.
            for module in ["module-filter-heuristics", "module-filter-apply"] {
                _ = try scene.sound.pactl("load-module", module)
            }
            let recording = try scene.sound.record("speakers.monitor")
            let talker = try Talker(in: scene.broadcast.directory, 3000)
            defer { talker.stop() }
            #expect(try scene.broadcast.run("sound", "mic").code == 0)
            try wait(until: "it is there") { try scene.list("modules").contains { $0.contains("module-echo-cancel") } }
            func isFiltered(_ streams: String, by devices: String) throws -> Bool {
                let filters = try scene.list(devices).filter { $0.contains("echo-cancel") }
                    .compactMap { $0.split(separator: "\t").first }
                // The device is the second column. The canceller's own streams have no client, which is the third.
                let own = try scene.list(streams).map { $0.split(separator: "\t") }.filter { $0[2] != "-" }
                return own.contains { stream in filters.contains { $0 == stream[1] } }
            }
            try wait(until: "what is said goes through it") { try isFiltered("sink-inputs", by: "sinks") }
            try wait(until: "so does the microphone") { try isFiltered("source-outputs", by: "sources") }
            try wait(until: "it is played") { try level(of: 3000, in: recording) > -20 }
            #expect(try scene.status().isMicrophoneLive && scene.process.errorOutput.contains("the microphone is live"))
        }

        @Test func itIsPlayedWithoutAnythingOfTheMachine() throws {
            let scene = try SoundScene("--output", "headset")
            let recording = try scene.sound.record("headset.monitor")
            let talker = try Talker(in: scene.broadcast.directory, 440)
            defer { talker.stop() }
            try wait(until: "it is played") { try !scene.list("sink-inputs").isEmpty }
            try wait(until: "it is heard as it is said") { abs(try level(of: 440, in: recording) + 12.04) < 0.2 }
            #expect(try scene.sound.recorders.count == 1, "that of the test")
            // Longer than a server may take to answer: it does, though nothing is heard of it. One on a busy machine may not for once.
            func told() -> [Substring] { scene.process.errorOutput.split(separator: "\n") }
            try wait(until: "it answers: \(told())") {
                let before = told()
                MonotonicClock.sleep(for: .seconds(5))
                let status = try scene.status()
                guard told().last?.contains("is back") ?? true else { return false }
                return told() == before && status.text.contains("\"device\":\"headset\"") && status.state == "off"
            }
            let stalls = ["(it does not answer)", "the sound server is back"]
            #expect(told().allSatisfy { line in stalls.contains { line.contains($0) } }, "\(told())")
            // The sound server ends in the middle of it.
            try scene.sound.crash()
            try scene.sound.restart()
            try wait(until: "it is played again") { try !scene.list("sink-inputs").isEmpty }
        }
    }
}
