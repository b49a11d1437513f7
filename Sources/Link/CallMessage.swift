/// What pairs tell each other of a call.
package enum CallMessage: Equatable, Sendable {
    /// - note: for the person who is called; may be empty.
    /// - seconds: for how long it rings.
    case invite(CallID, note: String, seconds: Int)
    case ringing(CallID)
    case accept(CallID)
    /// By the one who is called.
    case reject(CallID, CallEnd)
    /// By the one who calls, or of a call that is not known.
    case cancel(CallID, CallEnd)
    /// Of a call that has begun.
    case end(CallID, CallEnd, parameters: [String: String])
    /// Of a new link: the call between these two; nil if there is none.
    case state(CallStanding?)
}

/// Where one side stands in a call.
package struct CallStanding: Equatable, Sendable {
    package let id: CallID
    package let phase: CallPhase

    package init(_ id: CallID, _ phase: CallPhase) { (self.id, self.phase) = (id, phase) }
}

package enum CallPhase: UInt8, Sendable, CaseIterable {
    /// This device calls.
    case inviting = 1
    /// This device is called.
    case ringing
    /// Accepted, and on its way, or live.
    case begun
}

/// How a call has ended.
package enum CallEnd: UInt8, Sendable, CaseIterable {
    case hungUp
    case unanswered
    case busy
    case rejected
    /// By the one who calls.
    case cancelled
    /// Another device has answered.
    case elsewhere
    /// The other side, or the way to it, is gone.
    case lost
    /// It could not begin.
    case failed
}
