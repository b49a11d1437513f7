import FrameBridge
import Glibc
import Posix
import TestSupport
import Testing
import Time

extension Hear {
    /// Nobody hears what was muted or paused, whatever dies meanwhile.
    @Suite struct MutingTests {
        private let scene: SoundScene
        private let player: Subprocess
        private let speaker: Subprocess

        /// The machine plays 1000 Hz, and somebody speaks 3000 Hz; both are heard.
        init() throws {
            scene = try SoundScene("--sound", "mix")
            player = try scene.play(1000)
            speaker = try scene.sound.speak(.tone(3000, lasting: 1), into: "mic", repeating: true)
            try scene.wait(untilToneOf: 1000)
            try scene.wait(untilToneOf: 3000)
        }

        private func isLive() throws -> Bool { try scene.status().isMicrophoneLive }

        /// What a new reader gets, and the present one from now on: nothing from before `instant`.
        private func expectSilence(since instant: Instant) throws {
            scene.listener.clear()
            let reader = try SoundListener(scene.broadcast.directory)
            defer { reader.close() }
            MonotonicClock.sleep(for: .milliseconds(400))
            #expect(reader.heard.blocks.isEmpty)
            #expect(scene.listener.heard.blocks.isEmpty)
            #expect(try scene.sound.recorders.isEmpty)
        }

        /// Invariant: muted.
        @Test func whatIsMutedReachesNobody() throws {
            #expect(try scene.broadcast.run("mute").code == 0)
            let muted: Instant = MonotonicClock.now()
            // From the moment at which the command returns.
            #expect(try scene.sound.recorders.isEmpty)
            #expect(try !isLive() && scene.status().state == "muted")
            try expectSilence(since: muted)
            #expect(scene.process.errorOutput.contains("the microphone is off"))
            #expect(try scene.broadcast.run("unmute").code == 0)
            try scene.wait(untilToneOf: 1000)
            try scene.wait(untilToneOf: 3000)
            #expect(scene.listener.heard.blocks.allSatisfy { $0.capturedAt >= muted })
        }

        @Test func theMicrophoneIsMutedAlone() throws {
            #expect(try scene.broadcast.run("mute", "mic").code == 0)
            #expect(try scene.sound.recorders.count == 1 && !isLive())
            scene.listener.clear()
            #expect(try scene.level(of: 3000) < -70 && scene.level(of: 1000) > -20)
            #expect(try scene.broadcast.run("unmute", "mic").code == 0)
            try scene.wait(untilToneOf: 3000)
            #expect(try isLive())
        }

        /// Invariant: muted.
        @Test func whatIsPausedReachesNobody() throws {
            #expect(try scene.broadcast.run("pause").code == 0)
            let paused: Instant = MonotonicClock.now()
            try wait(until: "no device is read") { try scene.sound.recorders.isEmpty }
            #expect(try scene.status().state == "paused" && !isLive())
            try expectSilence(since: paused)
            #expect(try scene.broadcast.run("resume").code == 0)
            try scene.wait(untilToneOf: 3000)
            #expect(scene.listener.heard.blocks.allSatisfy { $0.capturedAt >= paused })
        }

        /// What the sound server kept for a process that stood still all the while is not heard later.
        /// Invariant: muted.
        @Test func nothingOfAPauseIsHeardThatNobodySaw() throws {
            try scene.process.suspend()
            #expect(try scene.broadcast.run("pause").code == 0)
            let paused: Instant = MonotonicClock.now()
            sleep(3)
            let resumed: Instant = MonotonicClock.now()
            #expect(try scene.broadcast.run("resume").code == 0)
            scene.process.kill(SIGCONT)
            try wait(until: "it is heard again") {
                scene.listener.heard.blocks.contains { $0.capturedAt > resumed + .seconds(1) }
            }
            #expect(scene.listener.heard.blocks.allSatisfy { !(paused..<resumed ~= $0.capturedAt) })
        }

        /// Also if all happens again and again.
        /// Invariant: muted.
        @Test func aMuteOutlivesTheProcess() throws {
            for part in ["all", "mic"] {
                #expect(try scene.broadcast.run("mute", part).code == 0)
                let muted: Instant = MonotonicClock.now()
                try scene.restart("--sound", "mix")
                #expect(scene.process.errorOutput.contains("still muted"))
                if part == "all" {
                    try expectSilence(since: muted)
                } else {
                    try wait(until: "the rest is heard") { try scene.level(of: 1000) > -20 }
                    #expect(try scene.level(of: 3000) < -70 && !isLive())
                }
                #expect(try scene.broadcast.run("unmute").code == 0)
                try scene.wait(untilToneOf: 3000)
            }
            // And a pause that came while nobody was there.
            scene.process.kill(SIGKILL)
            try scene.process.wait()
            #expect(try scene.broadcast.run("pause").code == 0)
            let paused: Instant = MonotonicClock.now()
            try scene.restart("--sound", "mix")
            try expectSilence(since: paused)
        }

        /// A process that is killed just when it is asked to mute: a command that returned was obeyed.
        /// Invariant: muted.
        @Test func whereverTheProcessDiesAMuteHolds() throws {
            for round in 0..<6 {
                scene.listener.clear()
                let command = try Subprocess([scene.broadcast.oriel, "mute", "--dir", scene.broadcast.directory])
                MonotonicClock.sleep(for: .microseconds(Int64(round) * 4000))
                scene.process.kill(SIGKILL)
                let exit = try command.wait()
                try scene.restart("--sound", "mix")
                if exit == .code(0) {
                    try expectSilence(since: MonotonicClock.now())
                    #expect(try scene.broadcast.run("unmute").code == 0)
                } else {
                    _ = try scene.broadcast.run("unmute")
                }
                try scene.wait(untilToneOf: 1000)
            }
        }

        @Test func oneThatIsStoppedIsToldOf() throws {
            try scene.process.suspend()
            let answer = try scene.broadcast.run("mute")
            #expect(answer.code == 75 && answer.errorOutput.contains("does not answer"))
            #expect(answer.errorOutput.contains("process \(scene.process.pid)"))
            let status = try scene.broadcast.run("status")
            #expect(status.code == 0 && status.output.hasPrefix("active") && status.output.contains("does not answer"))
            scene.process.kill(SIGCONT)
            // What was given up is not done later.
            try scene.wait(untilToneOf: 1000)
            try scene.process.suspend()
            scene.process.kill(SIGTERM)
            scene.process.kill(SIGCONT)
            #expect(try scene.process.wait() == .code(0))
            #expect(try scene.broadcast.run("mute").code == 75)
        }
    }
}
