import VideoEncoding

// What a plan is made of.
extension FramePlanner {
    /// What receivers have of the picture.
    enum Content {
        /// The picture was sent; it may get finer.
        case shown
        /// It has changed since; some of it has only moved, if there is a scroll.
        case new(Scroll?)
    }

    /// What the encoder can do now.
    struct Abilities {
        var canPatch = false
        /// The quantizer of the keyframe that it can repeat; nil when there is none.
        var repeatableQuantizer: Int?
    }

    /// What makes the frame.
    enum Step: Equatable {
        /// No frame now: the link is busy, or the budget spent.
        case wait
        case repeatKeyframe
        /// A patch of `active` with `scroll`, of at most so many bytes.
        case patch(limit: Int)
        case encode
    }

    /// A frame that is planned.
    struct Plan {
        let action: Cadence.Action
        var step = Step.encode
        let choice: Choice
        /// The coarsest quantizer that a keyframe may have; nil leaves it to rate control.
        let coarsest: Int?
        /// The quantizer that was chosen without rate control; nil where that chooses, and for a patch.
        var ownQuantizer: Int?
    }

    /// How the encoder itself makes a frame.
    struct EncodeParameters {
        let forceKeyframe: Bool
        /// Those that the frame may have; nil leaves them to rate control.
        let quantizers: ClosedRange<Int>?
        let isThorough: Bool
    }

    /// A frame that was made.
    struct Outcome {
        let isKeyframe: Bool
        let quantizer: Int
        let byteCount: Int
        /// Whether the encoder can patch now.
        let canPatch: Bool
    }

    /// Which macroblocks were chosen.
    enum Choice: Equatable {
        /// All that there is to encode.
        case all
        /// A part of what is coarse.
        case part
        /// A part that gets this quantizer, as the link is thin.
        case refinement(quantizer: Int)
        /// A few that are nearly fine.
        case polish
        /// None, as the link is busy.
        case nothing

        var isRefinement: Bool { if case .refinement = self { true } else { false } }
    }
}
