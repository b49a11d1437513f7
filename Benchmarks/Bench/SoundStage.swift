import Glibc
import Posix
import TestSupport
import Time

/// A broadcast with sound, and a sound server whose devices can be compared to the sample. Sound played into
/// `speakers`, or spoken into the microphone, and the sound that comes to the `ears`, are the two channels of one
/// device.
final class SoundStage {
    let web: WebStage
    let server: PulseServer
    /// The sound process.
    let sound: ChildProcess

    /// - Parameters:
    ///   - options: of the sound process.
    ///   - senderOptions: of the sender.
    ///   - suspends: whether unused devices are suspended, as on desktops.
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
                // Browsers accept no monitor as a microphone.
                "module-remap-source source_name=mouth master=speakers.monitor",
            ] + (suspends ? ["module-suspend-on-idle timeout=1"] : [])
        )
        try server.pactl("set-default-sink", "speakers")
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

    /// A browser that shows the picture, and plays into the ears.
    func listener() throws -> Browser {
        let browser = try web.viewer(sound: server)
        try wait(until: "the browser gets sound") { try browser.soundPackets > 10 }
        return browser
    }

    /// A browser whose microphone is the played sound. It sends that to itself, and plays into the ears.
    func loopBack() throws -> Browser {
        try server.pactl("set-default-source", "mouth")
        let browser = try web.browser(.chromium, sound: server)
        try browser.open("\(web.origin)/")
        let _: Bool? = try browser.evaluateOptional(Self.loopBackScript)
        try wait(until: "the browser gets its own sound") {
            try browser.evaluate("packetsOfSound()", as: Int.self) > 10
        }
        return browser
    }

    private static let loopBackScript = """
        (async () => {
            const plain = {echoCancellation: false, noiseSuppression: false, autoGainControl: false, channelCount: 2};
            const microphone = await navigator.mediaDevices.getUserMedia({audio: plain});
            const [near, far] = [new RTCPeerConnection(), new RTCPeerConnection()];
            near.onicecandidate = ({candidate}) => far.addIceCandidate(candidate);
            far.onicecandidate = ({candidate}) => near.addIceCandidate(candidate);
            far.ontrack = ({track, receiver}) => {
                receiver.jitterBufferTarget = 0;
                const player = document.createElement(track.kind);
                player.srcObject = new MediaStream([track]);
                player.autoplay = true;
                document.body.append(player);
            };
            near.addTrack(microphone.getAudioTracks()[0], new MediaStream());
            await near.setLocalDescription();
            await far.setRemoteDescription(near.localDescription);
            await far.setLocalDescription();
            await near.setRemoteDescription(far.localDescription);
            window.packetsOfSound = async () => [...(await far.getStats()).values()]
                .find(({type, kind}) => type === 'inbound-rtp' && kind === 'audio')?.packetsReceived ?? 0;
            return true;
        })()
        """

    /// The median and the 95th percentile of the time from playing to hearing, in milliseconds, in a browser that
    /// already plays.
    func latency(heardBy browser: Browser, seconds: Double) throws -> [Double] {
        // A browser's buffer of sound is large at first. The page has it shortened packet by packet.
        sleep(seconds: 20)
        let recording = try server.record("lab.monitor", channels: 2)
        sleep(seconds: seconds + 1)
        let delays = try Self.delays(in: recording.stop())
        withExtendedLifetime(browser) {}
        return [delays.median!, delays.percentile(95)!]
    }

    /// Twenty seconds of noise without similar parts, as dull as music.
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

    /// A sound that browsers recognize as speech, and do not suppress.
    static func speech() throws -> SoundClip {
        try .words(
            """
            The quick brown fox jumps over the lazy dog. Pack my box with five dozen liquor jugs. How vexingly quick daft zebras jump. \
            Sphinx of black quartz, judge my vow. The five boxing wizards jump quickly.
            """
        )
    }

    /// The time of each played part to the ears, in milliseconds, in steps of a tenth of a second.
    ///
    /// - Parameters:
    ///   - recording: of the two channels, a second longer at its end than the judged part.
    ///   - speech: Sound between words may be suppressed. It is not judged if less than half is missing. Of other
    ///     sound, a tenth may be missing, for a skipped packet.
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
        if delays.count <= missing * (speech ? 1 : 10) { throw BenchError("the played sound was not heard") }
        return delays
    }
}

extension Browser {
    /// Packets of sound that have come to the page.
    var soundPackets: Int {
        get throws { try evaluateOptional("(async () => (await oriel.stats()).soundPackets)()", as: Int.self) ?? 0 }
    }
}
