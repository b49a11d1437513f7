import TestSupport
import TestTraits
import Testing

/// What the other tests of sound rely on.
@Suite(.waits(seconds: 30)) struct PulseServerTests {
    @Test(arguments: PulseServer.Program.allCases) func whatIsPlayedIsRecorded(program: PulseServer.Program) throws {
        let server = try PulseServer(program, speakers: [.init("speakers"), .init("others", rate: 44_100)])
        let recording = try server.record("speakers.monitor")
        let sweep = SoundClip.sweep()
        // A server that does not get to run in time leaves gaps: then it is played again.
        var noise = 0.0
        try wait(until: "all of it is recorded: \(noise) dB") {
            let start = recording.duration
            try server.play(sweep).wait()
            // The last of it is still on its way.
            let sound = try recording.sound(lasting: .seconds(recording.duration + 0.5))
            let since = sound.part(start..<sound.duration).channel()
            guard let found = SoundAnalysis.find(sweep.channel(), in: since), found.correlation > 0.999 else {
                return false
            }
            noise = SoundAnalysis.signalToNoise(
                of: sweep.channel(),
                in: Array(since[found.delay...].prefix(sweep.samples.count))
            )
            return noise > 40
        }
        #expect(
            SoundAnalysis.level(in: try server.record("others.monitor").sound(lasting: .seconds(1)).channel()) < -90
        )
    }

    @Test(arguments: PulseServer.Program.allCases)
    func whatIsSpokenIsHeardByTheMicrophoneAlone(program: PulseServer.Program) throws {
        let server = try PulseServer(program, microphones: [.init("mic", channels: 1)])
        let (microphone, speakers) = (try server.record("@DEFAULT_SOURCE@"), try server.record("speakers.monitor"))
        let words = try SoundClip.words("The quick brown fox jumps over the lazy dog.")
        var likeness = 0.0
        try wait(until: "all of them are heard: \(likeness)") {
            let start = microphone.duration
            try server.speak(words, into: "mic").wait()
            let sound = try microphone.sound(lasting: .seconds(microphone.duration + 0.5))
            let since = sound.part(start..<sound.duration).channel()
            likeness = SoundAnalysis.find(words.channel(), in: since)?.correlation ?? 0
            return likeness > 0.99
        }
        #expect(SoundAnalysis.level(in: speakers.stop().channel()) < -90)
    }

    @Test func whatRepeatsCanBeStopped() throws {
        let server = try PulseServer()
        let recording = try server.record("speakers.monitor")
        let player = try server.play(.tone(1000, lasting: 0.1), repeating: true)
        let sound = try recording.sound(lasting: .seconds(2)).part(1..<2).channel()
        #expect(SoundAnalysis.largestClick(in: sound, frequency: 1000, level: 0.25) < 0.001)
        player.stop()
        try wait(until: "nothing plays") { try server.pactl("list", "short", "sink-inputs").isEmpty }
    }

    @Test func aServerIsBackAfterACrash() throws {
        let server = try PulseServer(of: .shared)
        try server.crash()
        #expect(throws: SubprocessFailure.self) { try server.pactl("info") }
        try server.restart()
        #expect(try server.pactl("info").contains("Default Sink: speakers"))
    }

    @Test func levelsAreMeasured() {
        let tone = SoundClip.tone(1000, lasting: 1, level: 0.5).channel()
        #expect(abs(SoundAnalysis.level(of: 1000, in: tone) + 6.02) < 0.05)
        #expect(abs(SoundAnalysis.level(in: tone) + 6.02) < 0.05)
        #expect(SoundAnalysis.level(of: 1200, in: tone) < -80)
        #expect(SoundAnalysis.largestClick(in: tone, frequency: 1000, level: 0.5) < 0.001)
        #expect(SoundAnalysis.largestClick(in: tone[..<100] + Array(tone[125...]), frequency: 1000, level: 0.5) > 0.2)
        #expect(SoundAnalysis.find(SoundClip.sweep().channel(), in: tone + tone)!.correlation < 0.2)
    }
}
