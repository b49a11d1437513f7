import Glibc
import Posix
import TestSupport
import Time

/// A broadcast with sound, and a sound server whose devices can be compared to the sample: what is played into `speakers`, or spoken into the
/// microphone, and what comes to the `ears`, are the two channels of one device.
final class SoundStage {
    let web: WebStage
    let server: PulseServer
    /// The sound process.
    let sound: ChildProcess

    /// - Parameters:
    ///   - options: of the sound process.
    ///   - senderOptions: of the sender.
    ///   - suspends: whether devices that nobody uses are suspended, as desktops have it.
    init(
        _ options: [String],
        senderOptions: [String] = [],
        workload: String = "still",
        link: Link? = nil,
        suspends: Bool = false
    ) throws {
        let remapped = "module-remap-sink master=lab channels=2 channel_map=front-left,front-right remix=no"
        server = try PulseServer(
            speakers: [],
            modules: [
                "module-null-sink sink_name=lab rate=48000 channels=2",
                "\(remapped) sink_name=speakers master_channel_map=front-left,front-left",
                "\(remapped) sink_name=ears master_channel_map=front-right,front-right",
                // Browsers take no monitor for a microphone.
                "module-remap-source source_name=mouth master=speakers.monitor",
            ] + (suspends ? ["module-suspend-on-idle timeout=1"] : [])
        )
        try server.pactl("set-default-sink", "speakers")
        // For the browser.
        server.sinkOfPrograms = "ears"
        web = try WebStage(
            workload,
            link: link,
            options: ["--sound"] + senderOptions,
            capturingOutput: workload == "counter"
        )
        sound = try ChildProcess(
            sibling("oriel"),
            ["hear", "--dir", web.bridge] + options,
            environment: server.environment
        )
        sleep(seconds: 1)
        try sound.requireRunning()
    }

    deinit { sound.stop() }

    /// Changes the sound process while it runs.
    func run(_ arguments: String...) throws {
        try Subprocess.run([try sibling("oriel")] + arguments + ["--dir", web.bridge])
    }

    /// A browser that shows the picture, and is heard by the ears.
    func listener() throws -> Browser {
        let browser = try web.viewer(sound: server)
        try wait(until: "the browser gets sound") { try browser.soundPackets > 10 }
        return browser
    }

    /// Twenty seconds of noise in which no part is like another, as dull as music.
    static func noise() -> SoundClip {
        var random = SplitMix64(seed: 7)
        var value = 0.0
        var samples: [Int16] = []
        for _ in 0..<20 * 48_000 {
            value += 0.4 * (Double.random(in: -1...1, using: &random) - value)
            let sample = Int16(value * 12_000)
            samples.append(sample)
            samples.append(sample)
        }
        return SoundClip(samples: samples, channels: 2)
    }

    /// What browsers take for speech, and do not suppress.
    static func speech() throws -> SoundClip {
        try .words(
            """
            The quick brown fox jumps over the lazy dog. Pack my box with five dozen liquor jugs. How vexingly quick daft zebras jump. \
            Sphinx of black quartz, judge my vow. The five boxing wizards jump quickly.
            """
        )
    }

    /// How long each part of what was played took to the ears, in milliseconds, in steps of a tenth of a second.
    ///
    /// - Parameters:
    ///   - recording: of the two channels, a second longer at its end than what is judged.
    ///   - speech: what is between words may be suppressed, and is not judged if less than half is missing.
    static func delays(in recording: SoundClip, of speech: Bool = false) throws -> [Double] {
        let (played, heard) = (recording.channel(0), recording.channel(1))
        let (part, step, longest) = (9600, 4800, 24_000)
        var (delays, missing): ([Double], Int) = ([], 0)
        for start in stride(from: 0, to: played.count - part - longest, by: step) {
            let sound = Array(played[start..<start + part])
            guard SoundAnalysis.level(in: sound) > -50 else { continue }
            let window = Array(heard[start..<start + part + longest])
            if let found = SoundAnalysis.find(sound, in: window), found.correlation > 0.5 {
                delays.append(Double(found.delay) / 48)
            } else {
                missing += 1
            }
        }
        if delays.count <= missing || missing > 0 && !speech { throw BenchError("what was played was not heard") }
        return delays
    }
}

extension Browser {
    /// Packets of sound that have come to the page.
    var soundPackets: Int {
        get throws { try evaluateOptional("(async () => (await oriel.stats()).soundPackets)()", as: Int.self) ?? 0 }
    }
}
