package import Time

/// Decides when the sender encodes. Sans-IO: instants come from outside.
///
/// A changed picture is encoded as soon as the frame rate allows. At a limited bitrate, the first encode of a screenful
/// of text is coarse. So a picture at rest is encoded again at the frame rate until its quality has converged, and then
/// once every `keepAliveInterval`, which shows receivers a live stream. If earlier motion has used up the bits of the
/// next seconds, refinement continues at that pace. A repetition delays no new picture: the frame rate holds for
/// pictures.
package struct Cadence {
    /// The next encode.
    package enum Action: Equatable {
        case nothing
        case frame
        case keyframe
        /// The last picture again, without a change: a sign of life.
        case keepAlive
    }

    static let keepAliveInterval = Duration.seconds(2)
    /// A picture that stays above the quantizer threshold for this many encodes is given up.
    static let refinementLimit = 90
    /// In the last sixteenth of the keyframe interval, a keyframe may come early, right after a picture.
    static let earlyShare = 16

    private let interval: Duration
    private var rate: RateLimit
    /// The time between keyframes without a request; nil for none.
    package var keyframeInterval: Duration?
    private var lastEncode: Instant?
    private var lastKeyframe: Instant?
    /// When a new picture was encoded last, and whether the one before it came just before.
    private var lastPicture: Instant?
    private var sourceIsSteady = false
    private var refinements = 0
    private var isFine = false
    private var isExhausted = false
    private var pictureIsNew = false
    private var keyframeIsWanted = true

    private var isConverged: Bool { isFine || isExhausted }

    /// - Parameters:
    ///   - interval: the time from picture to picture.
    ///   - start: the earliest instant of the first picture.
    package init(interval: Duration, keyframeInterval: Duration?, from start: Instant) {
        // A thirty-second faster than the capture process. At the same rate, all pictures after a late one would be as
        // late.
        rate = RateLimit(interval: interval - interval / 32, from: start)
        self.interval = interval
        self.keyframeInterval = keyframeInterval
    }

    package var earliest: Instant { rate.earliest }

    /// When to encode a picture at rest again, for its quality or for receivers.
    ///
    /// After a picture of a steady source it waits half an interval longer than the next picture would. A refinement
    /// just before a new picture would delay that for nothing.
    package var repetition: Instant {
        // A new picture, or a waiting receiver, comes before any repetition.
        guard let lastEncode, !pictureIsNew, !keyframeIsWanted else { return earliest }
        let next =
            isConverged
            ? lastEncode + Self.keepAliveInterval
            : lastEncode + (refinements == 0 && sourceIsSteady ? interval * 3 / 2 : interval)
        return min(next, keyframeDue ?? next)
    }

    /// When a keyframe without a request goes out. It takes long to send, and changes wait for it. So towards the end
    /// of its interval it follows a picture as soon as that has left, when the next one is farthest.
    private var keyframeDue: Instant? {
        guard let keyframeInterval, let lastKeyframe else { return nil }
        let latest = lastKeyframe + keyframeInterval
        let early = latest - keyframeInterval / Self.earlyShare
        guard let lastPicture, !sourceIsSteady, lastPicture >= early else { return latest }
        return lastPicture + interval / 8
    }

    /// Whether the picture to encode is one of many at the frame rate.
    package func isSteady(at now: Instant) -> Bool {
        guard pictureIsNew, let lastPicture else { return false }
        return now < lastPicture + interval * 3 / 2
    }

    package mutating func noteNewPicture() { pictureIsNew = true }

    /// A receiver needs a keyframe.
    package mutating func noteKeyframeRequest() { keyframeIsWanted = true }

    package func action(at now: Instant) -> Action {
        let isKeyframeDue = keyframeDue.map { now >= $0 } ?? false
        if isKeyframeDue, !pictureIsNew { return .keyframe }
        if keyframeIsWanted { return now >= earliest ? .keyframe : .nothing }
        if pictureIsNew {
            guard now >= earliest else { return .nothing }
            return isKeyframeDue && isSteady(at: now) ? .keyframe : .frame
        }
        guard now >= repetition else { return .nothing }
        return isFine ? .keepAlive : .frame
    }

    /// The picture that seemed fine is not.
    mutating func noteErrors() { (isFine, isExhausted, refinements) = (false, false, 0) }

    /// The bitrate leaves nothing for the quality of a picture at rest now.
    package mutating func postpone(at now: Instant) { lastEncode = now }

    /// Records that the result of `action(at:)` was done.
    ///
    /// - Parameters:
    ///   - isDropped: whether the encoder gave no frame.
    ///   - isFine: whether further encodes would not improve the picture.
    package mutating func noteEncoded(at now: Instant, isKeyframe: Bool, isDropped: Bool = false, isFine: Bool) {
        lastEncode = now
        if pictureIsNew {
            rate.note(at: now)
            sourceIsSteady = isSteady(at: now)
            lastPicture = now
        }
        if isKeyframe {
            lastKeyframe = now
            keyframeIsWanted = false
        } else if isConverged, !pictureIsNew {
            self.isFine = isFine
            return
        }
        // A coarse keyframe of the same picture is refined like a new one.
        refinements = pictureIsNew || isKeyframe ? 0 : refinements + 1
        if !isDropped { pictureIsNew = false }
        self.isFine = isFine
        isExhausted = refinements >= Self.refinementLimit
    }
}
