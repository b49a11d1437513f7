import FrameBridge
import Glibc
import Time

/// The loudness of the last second, in dB below full scale.
struct LevelMeter {
    private static let window = Duration.seconds(1)

    private struct Part {
        var peak: Int32 = 0
        var power = 0.0
        var blocks = 0
        var since: Instant
    }

    private var present: Part?
    private var past: Part?

    mutating func add(_ samples: [Int16], at now: Instant) {
        if let part = present, now >= part.since + Self.window { (past, present) = (part, nil) }
        var part = present ?? Part(since: now)
        var (peak, power): (Int32, Int64) = (0, 0)
        for sample in samples {
            let value = Int32(sample)
            peak = max(peak, abs(value))
            power += Int64(value * value)
        }
        part.peak = max(part.peak, peak)
        part.power += Double(power) / Double(max(1, samples.count))
        part.blocks += 1
        present = part
    }

    /// The level of the last full second, or of the present part of the first one; nil without recent sound. 0 is the
    /// loudest possible tone.
    ///
    /// - Returns: the loudest sample, and the root of the mean square (with 3 dB more, as a tone's peak is louder).
    func level(at now: Instant) -> (peak: Double, rms: Double)? {
        let latest = [past, present].compactMap(\.self).last { part in
            now < part.since + Self.window * 2 && (part.since + Self.window <= now || past == nil)
        }
        guard let part = latest ?? present, now < part.since + Self.window * 2, part.peak > 0 else { return nil }
        let mean = part.power / Double(part.blocks) * 2
        return (20 * log10(Double(part.peak) / 32768), 10 * log10(mean / (32768 * 32768)))
    }
}
