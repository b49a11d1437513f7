import Containers
import Time

/// Cuts a track into segments of equal length, on the wall clock's grid, each of which begins with a keyframe. Sans-IO.
///
/// A frame is held until the next one tells for how long it is shown. While nothing comes, segments of the last keyframe fill the time.
struct CMAFSegmenter {
    private struct Held {
        let bytes: [UInt8]
        let isKeyframe: Bool
        let time: UInt64
    }

    let track: CMAFTrack
    private let length: Duration
    /// The date of `Instant.start`, in seconds since 1970, UTC. It moves when the machine sleeps.
    var epoch: Double
    private var held: Held?
    private var samples: [CMAFSegment.Sample] = []
    private var start: UInt64 = 0
    /// For fillers; nil before the first.
    private var keyframe: [UInt8]?
    private var needsKeyframe = true
    /// Whether the present segment has nothing but the keyframe of before.
    private var isFiller = false

    /// - Parameter length: of a segment.
    init(_ track: CMAFTrack, length: Duration, epoch: Double) {
        (self.track, self.length, self.epoch) = (track, length, epoch)
    }

    /// When the next keyframe should come; nil at once.
    var keyframeAt: Instant? { needsKeyframe || held == nil ? nil : instant(ofSegment: number(at: start) + 1) }

    /// When to call `tick`; nil before the first keyframe.
    var deadline: Instant? { held.map { _ in instant(ofSegment: number(at: start) + 1) + length / 2 } }

    /// Adds a frame.
    ///
    /// - Returns: the segment that ends with it.
    mutating func add(_ bytes: [UInt8], at instant: Instant, isKeyframe: Bool) -> CMAFSegment? {
        if isKeyframe { (needsKeyframe, keyframe) = (false, bytes) }
        guard !needsKeyframe else { return nil }
        defer { isFiller = false }
        var time = units(instant)
        if let held { time = max(time, held.time + 1) }
        let isNext = held.map { _ in number(at: time) > number(at: start) } ?? false
        return hold(Held(bytes: bytes, isKeyframe: isKeyframe, time: time), cuts: isKeyframe && isNext)
    }

    /// Fills the time up to the present.
    mutating func tick(at now: Instant) -> CMAFSegment? {
        guard let deadline, now >= deadline, let keyframe else { return nil }
        let next = units(instant(ofSegment: number(at: start) + 1))
        guard let held, next > held.time else { return nil }
        // What comes next depends on pictures that are no longer the last ones.
        needsKeyframe = track.isPicture
        defer { isFiller = true }
        return hold(Held(bytes: keyframe, isKeyframe: true, time: next), cuts: true)
    }

    /// The last segment; nil if nothing has come.
    mutating func end(at now: Instant) -> CMAFSegment? {
        guard let held else { return nil }
        let end = max(units(now), held.time + 1)
        return hold(Held(bytes: [], isKeyframe: true, time: end), cuts: true, .last)
    }

    /// Forgets all that was not given yet.
    mutating func forget() { (held, samples, keyframe, needsKeyframe) = (nil, [], nil, true) }

    /// In seconds since 1970, UTC.
    func date(of instant: Instant) -> Double { epoch + Double(instant.nanoseconds) / 1e9 }

    private mutating func hold(_ frame: Held, cuts: Bool, _ mark: CMAFSegment.Mark? = nil) -> CMAFSegment? {
        if let held {
            let duration = Int(frame.time - held.time)
            samples.append(CMAFSegment.Sample(held.bytes, duration: duration, isKeyframe: held.isKeyframe))
        } else {
            start = frame.time
        }
        held = frame
        guard cuts else { return nil }
        defer { (samples, start) = ([], frame.time) }
        return CMAFSegment(
            of: track,
            number: UInt32(truncatingIfNeeded: number(at: start)),
            at: start,
            date: Double(start) / Double(track.timescale),
            samples,
            mark: mark ?? (isFiller ? .filler : nil)
        )
    }

    // MARK: - Time, in units of the track since 1970

    private func units(_ instant: Instant) -> UInt64 {
        UInt64(max(0, date(of: instant) * Double(track.timescale)))
    }

    /// Segments are whole milliseconds, of which each track has whole units.
    private var unitsPerSegment: UInt64 { UInt64((length / .seconds(1) * Double(track.timescale)).rounded()) }

    private func number(at time: UInt64) -> UInt64 { time / unitsPerSegment }

    private func instant(ofSegment number: UInt64) -> Instant {
        let seconds = Double(number * unitsPerSegment) / Double(track.timescale) - epoch
        return Instant(nanoseconds: UInt64(max(0, seconds * 1e9)))
    }
}
