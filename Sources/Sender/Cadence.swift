/// Decides when the sender encodes. Sans-IO: instants are nanoseconds of the monotonic clock and come from outside.
///
/// A changed picture is encoded as soon as the frame interval since the last one is over. A picture that stands still
/// is encoded again at the frame rate until its quality has converged, because at a limited bitrate the first encoding
/// of a screenful of text is coarse; then only once every `keepAliveInterval`, so that receivers see a live stream.
package struct Cadence {
    /// What to encode.
    package enum Action: Equatable {
        case nothing
        case frame
        case keyframe
    }

    static let keepAliveInterval: UInt64 = 1_000_000_000
    /// A picture that does not get below the quantizer threshold within this many encodings will not.
    static let refinementLimit = 90

    private let interval: UInt64
    /// Time between keyframes that nobody asked for; nil for none.
    private let keyframeInterval: UInt64?
    /// Quantizer (0 best to 63) at which a still picture counts as converged.
    private let convergedQuantizer: Int
    private var lastEncode: UInt64?
    private var lastKeyframe: UInt64 = 0
    private var refinements = 0
    private var isConverged = false
    private var pictureIsNew = false
    private var keyframeIsWanted = true

    package init(interval: UInt64, keyframeInterval: UInt64?, convergedQuantizer: Int) {
        self.interval = interval
        self.keyframeInterval = keyframeInterval
        self.convergedQuantizer = convergedQuantizer
    }

    /// The earliest instant of the next encoding.
    package var earliest: UInt64 { lastEncode.map { $0 + interval } ?? 0 }

    /// A picture came in that differs from the one before.
    package mutating func noteNewPicture() { pictureIsNew = true }

    /// A receiver cannot go on without a keyframe.
    package mutating func noteKeyframeRequest() { keyframeIsWanted = true }

    /// What to do now.
    package func action(at now: UInt64) -> Action {
        guard now >= earliest else { return .nothing }
        if keyframeIsWanted { return .keyframe }
        if let keyframeInterval, now >= lastKeyframe + keyframeInterval { return .keyframe }
        let isKeepAliveDue = lastEncode.map { now >= $0 + Self.keepAliveInterval } ?? true
        return pictureIsNew || !isConverged || isKeepAliveDue ? .frame : .nothing
    }

    /// What `action(at:)` asked for was done.
    ///
    /// - Parameter quantizer: of the encoded frame; nil when the encoder dropped it to keep the bitrate.
    package mutating func noteEncoded(at now: UInt64, isKeyframe: Bool, quantizer: Int?) {
        lastEncode = now
        if isKeyframe {
            lastKeyframe = now
            keyframeIsWanted = false
        }
        refinements = pictureIsNew ? 0 : refinements + 1
        if quantizer != nil { pictureIsNew = false }
        isConverged = quantizer.map { $0 <= convergedQuantizer } ?? false || refinements >= Self.refinementLimit
    }
}
