import FrameBridge
import Time

/// The samples of one stream of the sound server, on their way to their places on this machine's clock. Sans-IO.
///
/// A place is the count of samples since the start of the monotonic clock, 48000 a second. The place of a block's first
/// sample is a multiple of 480.
struct CapturedStream {
    /// A stream without samples for this long may have been suspended, or have lost samples.
    private static let pauseTime = Duration.milliseconds(150)
    /// The longest delay of speakers after a monitor has heard the sound.
    private static let mostAhead = Duration.milliseconds(500)
    /// The most samples kept while their capture time is unknown.
    private static let mostWaiting = SoundBlock.sampleRate / 2

    let channels: Int
    /// Earlier samples are left out.
    private let start: Instant
    private var clock = DeviceClock()
    private var follower = RateFollower()
    private var resampler: Resampler?
    /// The last samples that were not resampled.
    private var history: [Int16]
    /// Samples received so far, in each channel.
    private var received: Int64 = 0
    private var cameAt: Instant?
    /// Samples without a place yet, as their capture time is unknown.
    private var waiting: [Int16] = []
    /// Whether a report is needed before samples can be put into their places.
    private(set) var needsReport = true
    /// How much earlier its samples are heard than the device says. A monitor's device may claim to play them much
    /// later.
    private var lead = Duration.zero
    /// Samples in their places, and the place of the first one.
    private var queue: [Int16] = []
    private(set) var place: Int64?
    /// The place after the last received samples that were not silent.
    private(set) var loudUntil = Int64.min

    /// - Parameters:
    ///   - channels: 1 or 2.
    ///   - start: earlier sound is left out.
    init(channels: Int, from start: Instant) {
        self.channels = channels
        self.start = start
        history = [Int16](repeating: 0, count: Resampler.history * channels)
    }

    var hasSamples: Bool { !queue.isEmpty }
    /// The place after its last sample; nil before the first.
    var end: Int64? { place.map { $0 + Int64(queue.count / channels) } }

    /// Whether a block, by its number since the start of the clock, is complete.
    func has(block number: Int64) -> Bool { end ?? 0 >= (number + 1) * Int64(SoundBlock.samples) }

    /// The time until the next report is needed.
    var reportInterval: Duration { needsReport ? .zero : clock.isInDoubt ? .milliseconds(100) : .seconds(1) }

    /// How much slower the device is than this machine's clock.
    var slope: Double { clock.slope }
    var isResampled: Bool { resampler != nil }

    // MARK: - Input

    /// Appends interleaved samples that came at `now`.
    mutating func append(_ samples: UnsafeBufferPointer<Int16>, at now: Instant) {
        if let cameAt, now - cameAt > Self.pauseTime { needsReport = true }
        cameAt = now
        received += Int64(samples.count / channels)
        guard !needsReport else {
            waiting += samples
            if waiting.count > Self.mostWaiting * channels {
                waiting.removeFirst(waiting.count - Self.mostWaiting * channels)
            }
            return
        }
        append(samples, until: received, at: now)
    }

    /// Counts lost samples of each channel.
    mutating func skip(_ count: Int) {
        received += Int64(count)
        waiting = []
        needsReport = true
    }

    /// Applies a report of the sound server.
    ///
    /// - Parameters:
    ///   - ahead: samples that were captured by then and have not come yet.
    ///   - instant: when the last of them was captured.
    mutating func note(ahead: Int64, capturedAt instant: Instant, at now: Instant) {
        // A suspended stream stands still, which says nothing about its clock.
        guard let cameAt, now - cameAt <= Self.pauseTime else { return }
        let sample = received + ahead
        if needsReport, let expected = clock.instant(of: sample), isFar(instant, from: expected) {
            clock = DeviceClock()
        }
        clock.noteSample(sample, capturedAt: instant)
        guard needsReport else { return }
        needsReport = false
        waiting.withUnsafeBufferPointer { append($0, until: received, at: now) }
        waiting = []
    }

    private func isFar(_ instant: Instant, from other: Instant) -> Bool {
        abs((instant - other).nanoseconds) > DeviceClock.tolerance.nanoseconds
    }

    /// Puts samples into their places.
    ///
    /// - Parameter last: the count of samples received up to the last of them.
    private mutating func append(_ samples: UnsafeBufferPointer<Int16>, until last: Int64, at now: Instant) {
        guard !samples.isEmpty, let captured = clock.instant(of: last) else { return }
        let count = Int64(samples.count / channels)
        lead = max(lead, captured.advanced(byNanoseconds: -count * 62_500 / 3) - now - Self.mostAhead)
        let target = (captured - lead).place
        let delay = resampler == nil ? 0 : Int64(Resampler.delay)
        var end = self.end.map { $0 + count + delay } ?? target
        if place == nil || abs(target - end) > Int64(RateFollower.reach * Double(SoundBlock.sampleRate)) {
            restart(at: target - count)
            end = target
        }
        let distance = Double(target - end) / Double(SoundBlock.sampleRate)
        if let ratio = follower.ratio(distance: distance, slope: clock.slope) {
            let resampler = resampler ?? Resampler(channels: channels, after: history)
            self.resampler = resampler
            resampler.resample(samples, by: ratio, into: &queue)
        } else {
            queue += samples
            let last = samples.suffix(history.count)
            history.removeFirst(last.count)
            history += last
        }
        if samples.contains(where: { $0 != 0 }) { loudUntil = self.end ?? loudUntil }
        drop(before: start.place)
    }

    /// Continues at another place, with samples captured from there on.
    private mutating func restart(at place: Int64) {
        self.place = place
        queue = []
        resampler = nil
        follower = RateFollower()
        lead = .zero
    }

    // MARK: - Output

    mutating func drop(before place: Int64) {
        guard let first = self.place, first < place else { return }
        let count = min(Int(place - first), queue.count / channels)
        queue.removeFirst(count * channels)
        self.place = first + Int64(count)
    }

    /// Gives the samples of a block, and drops them with all earlier ones.
    ///
    /// - Parameters:
    ///   - place: of the block's first sample.
    ///   - body: gets the samples, and their start in the block; not called if there are none.
    mutating func takeBlock(at place: Int64, _ body: (_ samples: ArraySlice<Int16>, _ offset: Int) -> Void) {
        drop(before: place)
        guard let first = self.place, first < place + Int64(SoundBlock.samples) else { return }
        let offset = Int(first - place)
        let count = min(SoundBlock.samples - offset, queue.count / channels)
        if count > 0 { body(queue[..<(count * channels)], offset) }
        drop(before: place + Int64(SoundBlock.samples))
    }
}

extension Instant {
    /// The place of the sample that is captured at this instant (`CapturedStream`).
    var place: Int64 {
        let seconds = Int64(nanoseconds / 1_000_000_000)
        let rest = Int64(nanoseconds % 1_000_000_000)
        return seconds * Int64(SoundBlock.sampleRate) + (rest * 3 + 31_250) / 62_500
    }

    /// When the sample at a place is captured.
    init(place: Int64) { self.init(nanoseconds: UInt64(max(0, place)) * 62_500 / 3) }

    /// When a block begins, by its number since the start of the clock.
    init(block: Int64) { self.init(nanoseconds: UInt64(max(0, block)) * 10_000_000) }
}
