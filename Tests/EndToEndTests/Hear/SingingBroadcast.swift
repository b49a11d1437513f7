import Glibc
import TestSupport
import Testing

extension Programs {
    /// The program that writes the sound of a broadcast, as the user who runs that.
    static let bridgePeer: String = {
        atexit { Programs.peerInstallation.remove() }
        do {
            return try OrdinaryUser.shared.launcher(of: TestPrograms.bridgePeer, in: peerInstallation)
        } catch {
            preconditionFailure("cannot install bridge-peer: \(error)")
        }
    }()
    private static let peerInstallation = try! TemporaryDirectory()
}

extension Broadcast {
    /// Has a program write the broadcast's sound, without a sound server.
    ///
    /// - Parameter words: as of `BridgePeer.sing`.
    func sing(_ words: String...) throws -> Subprocess {
        let singer = try Subprocess([Programs.bridgePeer, "sing", directory] + words)
        try singer.wait(until: "it is heard: \(singer.output)") { singer.output.contains("begun") }
        return singer
    }
}

extension Browser {
    /// The loudest frequency in each channel of a track of sound, in Hz; 0 for none.
    ///
    /// - Parameter track: an expression.
    func tones(in track: String) throws -> [Double] {
        let script = """
            await (async () => {
                const context = new AudioContext();
                const source = context.createMediaStreamSource(new MediaStream([\(track)]));
                const splitter = context.createChannelSplitter(2);
                source.connect(splitter);
                const analysers = [0, 1].map(channel => {
                    const analyser = new AnalyserNode(context, {fftSize: 8192});
                    splitter.connect(analyser, channel);
                    return analyser;
                });
                await context.resume();
                await new Promise(done => setTimeout(done, 1000));
                const tones = analysers.map(analyser => {
                    const levels = new Float32Array(analyser.frequencyBinCount);
                    analyser.getFloatFrequencyData(levels);
                    const best = levels.reduce((best, level, index) => level > levels[best] ? index : best, 0);
                    return levels[best] > -60 ? best * context.sampleRate / analyser.fftSize : 0;
                });
                await context.close();
                return tones;
            })()
            """
        return try evaluate(script)
    }

    /// Waits until a tone is heard in each channel of a track.
    func wait(
        forTones expected: [Double],
        in track: String,
        _ explanation: @autoclosure () throws -> String = ""
    ) throws {
        try TestSupport.wait(until: "the tones are heard: \(try explanation())") {
            try zip(tones(in: track), expected).allSatisfy { abs($0 - $1) < 12 }
        }
    }
}

/// What a viewer has heard.
struct HeardSound {
    let clip: SoundClip

    /// - Parameter path: of a file of samples, 16 bit, 48 kHz, two channels.
    init(_ path: String) { clip = SoundClip(reading: path, channels: 2) }

    init(_ clip: SoundClip) { self.clip = clip }

    /// How much louder the tone of a channel is than all else in it, in dB, in the seconds of a range.
    func purity(of frequency: Double, channel: Int, in range: Range<Double>) -> Double {
        let samples = clip.part(range).channel(channel)
        let tone = SoundAnalysis.level(of: frequency, in: samples)
        // Two more of the levels are those of other tones.
        let others = stride(from: 300.0, through: 3000, by: 50).filter { abs($0 - frequency) > 100 }
        return tone - others.map { SoundAnalysis.level(of: $0, in: samples) }.max()!
    }

    /// Whether each channel has its tone and nothing else for two seconds: a busy machine makes gaps in others.
    func hears(tones: [Double]) -> Bool { purities(of: tones).contains { $0.allSatisfy { $0 > 30 } } }

    /// The purity of each channel's tone in spans of two seconds, each half a second after the one before, in dB.
    func purities(of tones: [Double]) -> [[Double]] {
        stride(from: 0, through: clip.duration - 2, by: 0.5).map { start in
            tones.enumerated().map { purity(of: $1, channel: $0, in: start..<start + 2) }
        }
    }
}
