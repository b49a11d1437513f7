import FrameBridge
import Posix
import TestSupport
import Testing
import Time

@testable import Sound

@Suite struct CapturedStreamTests {
    /// How far the last sample is from its place, in seconds.
    private func distance(_ device: VirtualDevice, _ stream: CapturedStream) -> Double {
        let end = Double(stream.end!) + (stream.isResampled ? Double(Resampler.delay) : 0)
        return abs(end - device.place(of: device.sent)) / 48_000
    }

    /// In steps of 10 ms, with a report each second; what comes is thrown away.
    private func run(
        _ device: inout VirtualDevice,
        _ stream: inout CapturedStream,
        for time: Duration,
        each: (VirtualDevice, CapturedStream, Int64) -> Void
    ) {
        for step in 0..<Int(time / .milliseconds(10)) {
            let before = stream.end
            let now = device.send(to: &stream)
            if stream.needsReport || step % 100 == 50 { device.report(to: &stream, at: now) }
            each(device, stream, before.map { stream.end! - $0 } ?? 0)
            stream.drop(before: stream.end! - 4800)
        }
    }

    /// Invariant: soundClock.
    @Test(arguments: [-500.0, 0, 500])
    func anHourLongEverySampleIsNearItsPlace(drift: Double) { check(drift, channels: 1, for: .seconds(3600)) }

    @Test(arguments: [-500.0, -200, -45, 5, 500], [1, 2])
    func inTheFirstMinutesEverySampleIsNearItsPlace(drift: Double, channels: Int) {
        check(drift, channels: channels, for: .seconds(240))
    }

    private func check(_ drift: Double, channels: Int, for time: Duration) {
        var device = VirtualDevice(drift: drift, channels: channels)
        var stream = CapturedStream(channels: channels, from: .start)
        var (farthest, last, shortest, longest) = (0.0, 0.0, Int64.max, Int64.min)
        run(&device, &stream, for: time) { device, stream, step in
            last = distance(device, stream)
            farthest = max(farthest, last)
            if step > 0 { (shortest, longest) = (min(shortest, step), max(longest, step)) }
        }
        #expect(farthest < 0.01 && last < 0.006)
        // Sound is made longer and shorter evenly. The first step has what the resampler keeps.
        #expect(shortest >= 479 - Int64(Resampler.delay) && longest <= 481)
        #expect(stream.isResampled == (abs(drift) * time.seconds > 5000), "5 ms, and what the first report is wrong by")
        #expect(abs(stream.slope * 1e6 + drift) < 10)
    }

    @Test func whatKeepsPaceIsNotTouched() {
        var (device, stream) = (VirtualDevice(), CapturedStream(channels: 1, from: .start))
        var random = SplitMix(seed: 7)
        var (sent, got): ([Int16], [Int16]) = ([], [])
        for step in 0..<500 {
            let samples = (0..<SoundBlock.samples).map { _ in Int16.random(in: .min ... .max, using: &random) }
            sent += samples
            let now = device.send(samples, to: &stream)
            if stream.needsReport || step % 100 == 50 { device.report(to: &stream, at: now) }
            got += take(&stream)
        }
        #expect(got.count > sent.count - 2 * SoundBlock.samples)
        #expect(got.contains(sent[..<got.count]), "at a block's border, nothing is lost")
    }

    /// All whole blocks that are there.
    private func take(_ stream: inout CapturedStream) -> [Int16] {
        var samples: [Int16] = []
        let size = Int64(SoundBlock.samples)
        while let place = stream.place, let end = stream.end, end / size > place / size || end == place + size {
            let count = samples.count
            stream.takeBlock(at: place / size * size) { part, _ in samples += part }
            if samples.count == count { break }
        }
        return samples
    }

    /// Invariant: soundClock.
    @Test(arguments: [-200.0, 200], [1, 2])
    func noStepIsHeard(drift: Double, channels: Int) {
        let frequency = 1000.0
        var (device, stream) = (
            VirtualDevice(drift: drift, channels: channels), CapturedStream(channels: channels, from: .start)
        )
        let tone = SoundClip.tone(frequency, lasting: 1, level: 0.25, channels: channels).samples
        var got: [Int16] = []
        for step in 0..<12_000 {
            let part = step % 100 * SoundBlock.samples * channels
            let now = device.send(Array(tone[part..<part + SoundBlock.samples * channels]), to: &stream)
            if stream.needsReport || step % 100 == 50 { device.report(to: &stream, at: now) }
            got += take(&stream)
        }
        #expect(stream.isResampled)
        for channel in 0..<channels {
            let samples = SoundClip(samples: got, channels: channels).channel(channel)
            #expect(SoundAnalysis.largestClick(in: samples, frequency: frequency, level: 0.25) < 0.0015)
            let (first, last) = (Array(samples.prefix(48_000)), Array(samples.suffix(48_000)))
            #expect(abs(SoundAnalysis.level(of: frequency, in: first) + 12.04) < 0.1)
            #expect(abs(SoundAnalysis.level(of: frequency * (1 + drift / 1e6), in: last) + 12.04) < 0.1)
        }
    }

    @Test func whatWasSuspendedGoesOnAtAnotherPlace() {
        var (device, stream) = (VirtualDevice(drift: 20), CapturedStream(channels: 2, from: .start))
        device = VirtualDevice(drift: 20, channels: 2)
        run(&device, &stream, for: .seconds(3)) { _, _, _ in }
        device.sleep(for: .seconds(60))
        run(&device, &stream, for: .seconds(3)) { device, stream, _ in
            #expect(distance(device, stream) < 0.01)
        }
    }

    @Test func samplesThatWereLostLeaveAGap() {
        var (device, stream) = (VirtualDevice(), CapturedStream(channels: 1, from: .start))
        run(&device, &stream, for: .seconds(5)) { _, _, _ in }
        // Once with a word of the server, and once without.
        device.lose(9600)
        stream.skip(9600)
        run(&device, &stream, for: .seconds(5)) { device, stream, _ in #expect(distance(device, stream) < 0.01) }
        device.lose(9600)
        run(&device, &stream, for: .seconds(10)) { _, _, _ in }
        #expect(distance(device, stream) < 0.01)
    }

    @Test func oneThatDoesNotGetToRunLosesNothing() {
        var (device, stream) = (VirtualDevice(), CapturedStream(channels: 1, from: .start))
        run(&device, &stream, for: .seconds(2)) { _, _, _ in }
        let end = stream.end!
        // All of a second comes at once.
        var now = Instant.start
        let late = device.instant(of: device.sent + 48_000)
        for _ in 0..<100 {
            let samples = [Int16](repeating: 1, count: SoundBlock.samples)
            now = max(late, device.send(samples, to: &stream))
        }
        device.report(to: &stream, at: now)
        #expect(stream.end! == end + 48_000)
    }

    @Test func nothingIsHeardFromBeforeItsStart() {
        var device = VirtualDevice()
        let start = device.start + .milliseconds(105)
        var stream = CapturedStream(channels: 1, from: start)
        for _ in 0..<20 {
            let now = device.send(to: &stream)
            device.report(to: &stream, at: now)
        }
        #expect(stream.place! == start.place)
    }

    @Test func withoutAnyReportNothingIsHeard() {
        var (device, stream) = (VirtualDevice(), CapturedStream(channels: 1, from: .start))
        for _ in 0..<1000 { device.send(to: &stream) }
        #expect(stream.place == nil && stream.needsReport)
        device.report(to: &stream, at: device.instant(of: device.sent))
        // Of what came before, half a second is left.
        #expect(stream.end! - stream.place! == 24_000)
    }

    @Test func aDeviceThatIsFarAwayIsHeardNow() {
        var (device, stream) = (VirtualDevice(), CapturedStream(channels: 1, from: .start))
        let now = device.send(to: &stream)
        stream.note(ahead: 0, capturedAt: now + .seconds(3600), at: now)
        #expect(stream.end! <= (now + .seconds(1)).place)
    }
}
