import Glibc
import Posix

/// Sound in memory: 16 bit, interleaved.
package struct SoundClip: Sendable, Equatable {
    package var samples: [Int16]
    /// Samples of a second, in each channel.
    package let rate: Int
    package let channels: Int

    package init(samples: [Int16], rate: Int = 48_000, channels: Int = 1) {
        (self.samples, self.rate, self.channels) = (samples, rate, channels)
    }

    /// A tone, in all channels.
    ///
    /// - Parameters:
    ///   - frequency: in Hz.
    ///   - level: of its amplitude, 1 for full scale.
    package static func tone(
        _ frequency: Double,
        lasting seconds: Double,
        level: Double = 0.25,
        rate: Int = 48_000,
        channels: Int = 1
    ) -> SoundClip {
        SoundClip(lasting: seconds, rate: rate, channels: channels) { level * sin(2 * .pi * frequency * $0) }
    }

    /// A tone whose pitch rises evenly, with which a delay is found to the sample (`SoundAnalysis.find`): no two of its parts are alike.
    package static func sweep(
        from first: Double = 200,
        to last: Double = 6000,
        lasting seconds: Double = 1,
        level: Double = 0.25,
        rate: Int = 48_000,
        channels: Int = 1
    ) -> SoundClip {
        SoundClip(lasting: seconds, rate: rate, channels: channels) { time in
            level * sin(2 * .pi * (first * time + (last - first) * time * time / (2 * seconds)))
        }
    }

    /// White noise, the same in each channel and at each call.
    package static func noise(lasting seconds: Double, level: Double = 0.25, rate: Int = 48_000, channels: Int = 1)
        -> SoundClip
    {
        var random = SplitMix64(seed: 7)
        return SoundClip(lasting: seconds, rate: rate, channels: channels) { _ in
            level * Double.random(in: -1...1, using: &random)
        }
    }

    package static func silence(lasting seconds: Double, rate: Int = 48_000, channels: Int = 1) -> SoundClip {
        SoundClip(lasting: seconds, rate: rate, channels: channels) { _ in 0 }
    }

    /// Words that espeak-ng speaks, in one channel of 48 kHz.
    package static func words(_ text: String) throws -> SoundClip {
        let directory = try TemporaryDirectory()
        let (spoken, raw) = (directory.file("words.wav"), directory.file("words"))
        try Subprocess.run(["espeak-ng", "-w", spoken, text])
        try Subprocess.run(["ffmpeg", "-v", "error", "-i", spoken, "-f", "s16le", "-ar", "48000", "-ac", "1", raw])
        return SoundClip(reading: raw, rate: 48_000, channels: 1)
    }

    /// - Parameter wave: from seconds to a part of full scale.
    private init(lasting seconds: Double, rate: Int, channels: Int, wave: (Double) -> Double) {
        samples = (0..<Int(seconds * Double(rate))).flatMap { index in
            let value = Int16(max(-32768, min(32767, (wave(Double(index) / Double(rate)) * 32767).rounded())))
            return repeatElement(value, count: channels)
        }
        (self.rate, self.channels) = (rate, channels)
    }

    /// Reads a file without a header; empty if there is none.
    package init(reading path: String, rate: Int = 48_000, channels: Int) {
        samples = []
        if let file = try? FileDescriptor.open(path, O_RDONLY), let size = try? file.status().st_size {
            samples = [Int16](repeating: 0, count: Int(size) / 2)
            let count = (try? samples.withUnsafeMutableBytes { try file.read(into: $0, at: 0) }) ?? 0
            samples.removeLast(samples.count - count / 2)
        }
        (self.rate, self.channels) = (rate, channels)
    }

    /// Samples of all channels in a file without a header, which may still grow; 0 if there is none.
    static func samples(in path: String) -> Int {
        var info = stat()
        return stat(path, &info) == 0 ? Int(info.st_size) / 2 : 0
    }

    /// Seconds of a file without a header, which may still grow; 0 if there is none.
    package static func duration(of path: String, rate: Int = 48_000, channels: Int) -> Double {
        Double(samples(in: path) / channels) / Double(rate)
    }

    package static func + (first: SoundClip, second: SoundClip) -> SoundClip {
        precondition(first.rate == second.rate && first.channels == second.channels)
        return SoundClip(samples: first.samples + second.samples, rate: first.rate, channels: first.channels)
    }

    /// Seconds.
    package var duration: Double { Double(samples.count / channels) / Double(rate) }

    /// A part, in seconds from its beginning.
    package func part(_ range: Range<Double>) -> SoundClip {
        let bounds = [range.lowerBound, range.upperBound].map { min(Int($0 * Double(rate)) * channels, samples.count) }
        return SoundClip(samples: Array(samples[bounds[0]..<bounds[1]]), rate: rate, channels: channels)
    }

    /// One channel, as parts of full scale.
    package func channel(_ channel: Int = 0) -> [Float] {
        stride(from: channel, to: samples.count, by: channels).map { Float(samples[$0]) / 32768 }
    }

    package var bytes: [UInt8] { samples.withUnsafeBytes { Array($0) } }

    var pacatOptions: String { "--format=s16le --rate=\(rate) --channels=\(channels)" }
}
