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
    /// Of a new link: the call between these two, if there is one.
    case state(CallID?, CallPhase)
}

package enum CallPhase: UInt8, Sendable, CaseIterable {
    case none
    /// This device calls.
    case inviting
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
