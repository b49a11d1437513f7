import FrameBridge
import TestSupport
import Time

@testable import Sound

/// A device in virtual time, whose clock is not this machine's, and a sound server that passes on what it captures.
struct VirtualDevice {
    /// How much faster its clock is, in millionths.
    let drift: Double
    let channels: Int
    /// When it captures sample 0.
    var start = Instant.seconds(10_000)
    /// The most that the server takes to pass something on, in seconds.
    var delay = 0.008
    /// The most by which a report says a sample later than it was, in seconds.
    var lateness = 0.004
    var random = SplitMix(seed: 1)
    /// Samples that have been passed on.
    private(set) var sent: Int64 = 0

    init(drift: Double = 0, channels: Int = 1) { (self.drift, self.channels) = (drift, channels) }

    /// When a sample is captured.
    func instant(of sample: Int64) -> Instant {
        start + .seconds(Double(sample) / 48_000 / (1 + drift / 1e6))
    }

    /// Where a sample should stand: between places, as a rule.
    func place(of sample: Int64) -> Double {
        let instant = instant(of: sample)
        return Double(instant.nanoseconds) * 48 / 1e6
    }

    /// Passes on the next 10 ms. Returns when.
    @discardableResult
    mutating func send(_ samples: [Int16]? = nil, to stream: inout CapturedStream) -> Instant {
        let samples = samples ?? [Int16](repeating: 1000, count: SoundBlock.samples * channels)
        sent += Int64(samples.count / channels)
        let now = instant(of: sent) + .seconds(Double.random(in: 0...delay, using: &random))
        samples.withUnsafeBufferPointer { stream.append($0, at: now) }
        return now
    }

    /// Reports when a sample was captured that was not passed on yet.
    mutating func report(to stream: inout CapturedStream, at now: Instant) {
        let ahead = Int64.random(in: 0...480, using: &random)
        let instant = instant(of: sent + ahead) + .seconds(Double.random(in: 0...lateness, using: &random))
        stream.note(ahead: ahead, capturedAt: instant, at: now)
    }

    /// Stands still for a while, as a device that is suspended.
    mutating func sleep(for time: Duration) { start += time }

    /// Captures samples that nobody is given.
    mutating func lose(_ samples: Int64) { start += .seconds(Double(samples) / 48_000) }
}
