import Media
import Synchronization
import Time
import VideoEncoding

/// The codec preference of a rung, shared by the threads of its renditions.
final class SharedPreference: Sendable {
    private let state: Mutex<CodecPreference>

    init(interval: Duration) { state = Mutex(CodecPreference(interval: interval)) }

    var codec: VideoCodec { state.withLock { $0.codec } }

    /// - Returns: whether the preferred codec has changed.
    func update(_ note: (inout CodecPreference) -> Void) -> Bool {
        state.withLock { preference in
            let before = preference.codec
            note(&preference)
            return preference.codec != before
        }
    }
}

/// Decides which codec suits the picture. VP8 costs least, and is sharp as long as the bitrate suffices. AV1's tools
/// for text need half the bits or less, and three to eight times the processor time. Sans-IO: instants come from
/// outside.
///
/// AV1 takes over after long coarse text, and on a thin link at once. It gives way to film, and if it costs too much.
/// If the link is not thin, it gives way also to a picture so calm that VP8 would do.
struct CodecPreference {
    /// The largest quantizer, 0...63, at which a page of text does not look blurred.
    static let coarseQuantizer = 32
    /// How long text may be coarse. A coarse second counts for ten seconds.
    static let longestCoarseTime = Duration.seconds(1)
    /// More change than this is film, in whole pictures a second, without scrolling: 10 is a third of the screen at 30
    /// frames a second. Nobody turns pages that fast.
    static let filmRate = 10.0
    /// The largest share of the frame interval for encoding.
    static let largestLoad = 0.6
    /// After this long without a coarse frame or much change, AV1 has nothing to gain.
    static let calmTime = Duration.seconds(20)

    private enum State {
        /// The time with coarse frames lately.
        case vp8(coarse: Duration)
        /// When AV1 last had something to gain, and the share of the frame interval for encoding.
        case av1(busyAt: Instant, load: Double)
    }

    private let interval: Duration
    private var state = State.vp8(coarse: .zero)
    /// The earliest instant at which AV1 may take over again; nil before it has given way.
    private var restsUntil: Instant?
    /// How long AV1 stays away after it has given way.
    private var rests = Backoff(.seconds(30)...(.seconds(960)))
    private var lastFrame: Instant?
    /// The change of about the last second, in whole pictures, as of `changedAt`.
    private var change = 0.0
    private var changedAt: Instant?

    /// - Parameter interval: from frame to frame.
    init(interval: Duration) { self.interval = interval }

    var codec: VideoCodec {
        switch state {
        case .vp8: .vp8
        case .av1: .av1
        }
    }

    /// The picture has changed.
    ///
    /// - Parameter share: the changed share of it, 0...1, without scrolled parts.
    mutating func noteChange(_ share: Double, at now: Instant) {
        // Each rendition reports the same change.
        guard now != changedAt else { return }
        change = change * Self.remainder(of: now - (changedAt ?? now), .seconds(1)) + share
        changedAt = now
        guard case .av1(_, let load) = state else { return }
        if change > Self.filmRate {
            giveWay(at: now)
        } else if share > 0.125 {
            state = .av1(busyAt: now, load: load)
        }
    }

    /// Records whether the link of a codec's receivers is thin. On a thin link, half the bits are half the time, so AV1
    /// suits at once.
    mutating func noteLink(isThin: Bool, of codec: VideoCodec, at now: Instant) {
        guard isThin else { return }
        switch state {
        case .vp8:
            if codec != .av1, change < Self.filmRate, mayBegin(at: now) { begin(.av1(busyAt: now, load: 0)) }
        case .av1(_, let load):
            if codec == .av1 { state = .av1(busyAt: now, load: load) }
        }
    }

    private func mayBegin(at now: Instant) -> Bool { restsUntil.map { now >= $0 } ?? true }

    /// A frame was encoded.
    ///
    /// - Parameter cost: processor time; nil for a frame that waits for the link, so that its cost does not matter.
    mutating func noteFrame(_ frame: EncodingResult, by codec: VideoCodec, cost: Duration?, at now: Instant) {
        let isCoarse = frame.quantizer > Self.coarseQuantizer
        let elapsed = min(max(now - (lastFrame ?? now), .zero), interval * 2)
        switch state {
        case .vp8(let coarse):
            guard codec != .av1 else { return }
            lastFrame = now
            let kept = coarse * Self.remainder(of: elapsed, .seconds(10))
            let total = kept + (isCoarse && change < Self.filmRate ? elapsed : .zero)
            state = .vp8(coarse: total)
            if total > Self.longestCoarseTime, mayBegin(at: now) { begin(.av1(busyAt: now, load: 0)) }
        case .av1(let busyAt, let load):
            var smooth = load
            // Keyframes are costly and rare, and would distort the load.
            if codec == .av1, !frame.isKeyframe, let cost {
                lastFrame = now
                smooth += (cost / interval - load) * (elapsed / .seconds(2))
            }
            state = .av1(busyAt: isCoarse ? now : busyAt, load: smooth)
            if smooth > Self.largestLoad {
                giveWay(at: now)
            } else if now > busyAt + Self.calmTime, !isCoarse {
                begin(.vp8(coarse: .zero))
            }
        }
    }

    private mutating func giveWay(at now: Instant) {
        restsUntil = now + rests.fail()
        begin(.vp8(coarse: .zero))
    }

    private mutating func begin(_ state: State) {
        self.state = state
        lastFrame = nil
    }

    /// The rest of a weight of 1 that fades linearly over a time.
    private static func remainder(of elapsed: Duration, _ time: Duration) -> Double {
        max(0, 1 - max(elapsed, .zero) / time)
    }
}
