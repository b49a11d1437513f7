package import Time

/// Decides when the sender encodes. Sans-IO: instants come from outside.
///
/// A changed picture is encoded as soon as the frame rate allows. A picture that stands still
/// is encoded again at the frame rate until its quality has converged, because at a limited bitrate the first encoding
/// of a screenful of text is coarse; then only once every `keepAliveInterval`, so that receivers see a live stream. What
/// has not converged by then, as motion before it has used up the bits of seconds to come, is refined at that pace.
/// A repetition delays no new picture: the frame rate holds for pictures.
package struct Cadence {
    /// What to encode.
    package enum Action: Equatable {
        case nothing
        case frame
        case keyframe
        /// The picture as it was sent, without a change: a sign of life.
        case keepAlive
    }

    static let keepAliveInterval = Duration.seconds(2)
    /// A picture that does not get below the quantizer threshold within this many encodings will not soon.
    static let refinementLimit = 90
    /// In the last sixteenth of the keyframe interval, a keyframe may come early, right after a picture.
    static let earlyShare = 16

    private let interval: Duration
    private var rate: RateLimit
    /// Time between keyframes that nobody asked for; nil for none.
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
    ///   - start: when the first picture may be encoded.
    package init(interval: Duration, keyframeInterval: Duration?, from start: Instant) {
        // A thirty-second faster than the capture process: at the very same rate, a picture that once had to wait would
        // make all later ones wait as long.
        rate = RateLimit(interval: interval - interval / 32, from: start)
        self.interval = interval
        self.keyframeInterval = keyframeInterval
    }

    /// The earliest instant of the next picture.
    package var earliest: Instant { rate.earliest }

    /// When a picture that stands still is to be encoded again, for its quality or for receivers that come or are there.
    ///
    /// After a picture of a steady source it waits half an interval longer than the next one would take: a refinement
    /// that goes out just before a new picture delays that for nothing.
    package var repetition: Instant {
        // A new picture, or a receiver that waits, comes before any repetition.
        guard let lastEncode, !pictureIsNew, !keyframeIsWanted else { return earliest }
        let next =
            isConverged
            ? lastEncode + Self.keepAliveInterval
            : lastEncode + (refinements == 0 && sourceIsSteady ? interval * 3 / 2 : interval)
        return min(next, keyframeDue ?? next)
    }

    /// When a keyframe that nobody asked for goes out. It takes long to send, and what changes meanwhile waits for it: so
    /// towards the end of its interval it follows a picture as soon as that has left, when the next one is farthest.
    private var keyframeDue: Instant? {
        guard let keyframeInterval, let lastKeyframe else { return nil }
        let latest = lastKeyframe + keyframeInterval
        let early = latest - keyframeInterval / Self.earlyShare
        guard let lastPicture, !sourceIsSteady, lastPicture >= early else { return latest }
        return lastPicture + interval / 8
    }

    /// Whether the picture that is to be encoded is one of many that follow each other at the frame rate.
    package func isSteady(at now: Instant) -> Bool {
        guard pictureIsNew, let lastPicture else { return false }
        return now < lastPicture + interval * 3 / 2
    }

    /// A picture came in that differs from the one before.
    package mutating func noteNewPicture() { pictureIsNew = true }

    /// A receiver cannot go on without a keyframe.
    package mutating func noteKeyframeRequest() { keyframeIsWanted = true }

    /// What to do now.
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

    /// The picture stands still, and the bitrate leaves nothing for its quality now.
    package mutating func postpone(at now: Instant) { lastEncode = now }

    /// The action that `action(at:)` gave was done.
    ///
    /// - Parameters:
    ///   - isDropped: the encoder left the frame out to keep the bitrate.
    ///   - isFine: every part of the picture is now as good as more encodings would make it.
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
        // A coarse keyframe of the same picture is to be mended like a new one.
        refinements = pictureIsNew || isKeyframe ? 0 : refinements + 1
        if !isDropped { pictureIsNew = false }
        self.isFine = isFine
        isExhausted = refinements >= Self.refinementLimit
    }
}
