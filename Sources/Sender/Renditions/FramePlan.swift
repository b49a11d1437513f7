import VideoEncoding

// The parts of a plan.
extension FramePlanner {
    /// The receivers' state of the picture.
    enum Content {
        /// The picture was sent; it may get finer.
        case shown
        /// It has changed since; if there is a scroll, some of it has only moved.
        case new(Scroll?)
    }

    /// The encoder's present abilities.
    struct Abilities {
        var canPatch = false
        /// The quantizer of the keyframe that it can repeat; nil if there is none.
        var repeatableQuantizer: Int?
    }

    /// How the frame is made.
    enum Step: Equatable {
        /// No frame now: the link is busy, or the budget is spent.
        case wait
        case repeatKeyframe
        /// A patch of `active` with `scroll`, of at most `limit` bytes.
        case patch(limit: Int)
        case encode
    }

    struct Plan {
        let action: Cadence.Action
        var step = Step.encode
        let choice: Choice
        /// The coarsest quantizer of a keyframe; nil leaves it to rate control.
        let coarsest: Int?
        /// The quantizer chosen without rate control; nil for rate control's choice, and for a patch.
        var ownQuantizer: Int?
    }

    typealias Delivery = (frame: EncodingResult, byteCount: Int)

    /// The chosen macroblocks.
    enum Choice: Equatable {
        /// All that need encoding.
        case all
        /// Some of the coarse ones.
        case part
        /// Some that get this quantizer, as the link is thin.
        case refinement(quantizer: Int)
        /// A few that are nearly fine.
        case polish
        /// None, as the link is busy.
        case nothing

        var isRefinement: Bool { if case .refinement = self { true } else { false } }
    }
}
