package import Media
package import Motion

/// A report of a call to its sender. Reports come at once, and in order.
package struct CallReport: Sendable, Equatable {
    /// A participant, as events name it.
    package struct Participant: Sendable, Equatable {
        /// Nil for one that was never connected.
        package var id: ParticipantID?
        /// The name that it gives itself; may be empty.
        package var name = ""
        /// Of one that looks in by HTTP.
        package var address: String?
    }

    package enum Event: Sendable, Equatable {
        /// This side is in the call, or in it again. The codec is that of the picture if one server gets it for all.
        case standing(VideoCodec?)
        /// The call is lost and tried again. It is no news if the call was lost before, for another reason.
        case away(why: String, isNews: Bool)
        /// The path to somebody stands. The codec is that of the picture; nil for one that gets none.
        case joined(Participant, VideoCodec?)
        case left(Participant, EndReason)
        /// Somebody was turned away without a question.
        case refused(Participant, EndReason)
        /// The call is over; nil if this side left. Reported once, and last.
        case ended(CallEnd?)
        /// A call that pushes nothing but clips begins or ends one, by its number.
        case clipBegan(Int, ClipTrigger.Cause)
        case clipEnded(Int, ClipTrigger.End)
        /// A sentence for people alone.
        case remark
    }

    package let event: Event
    /// The sentence for people; nil for none.
    package let sentence: String?

    package init(_ event: Event, _ sentence: String? = nil) { (self.event, self.sentence) = (event, sentence) }

    package static func ended(_ end: CallEnd?) -> CallReport { CallReport(.ended(end), end.map { "\($0)" }) }
}
