import WebRTC

/// One viewer of a web call, from the negotiation to its end.
struct ViewerSession {
    let viewer: Participant
    let negotiation: Negotiation
    /// The viewer's ICE credentials of the current generation.
    var credentials: ICECredentials
    /// How many of the viewer's candidates were given to its peer, over all restarts.
    var candidateCount = 0
    /// Why this side ends it; nil if it does not.
    var reason: EndReason?
    /// Gets the answer, or the refusal; nil once it has been called.
    var completion: (@Sendable (Result<Admission, Refusal>) -> Void)?
    /// Nil before the answer is there, and if the viewer takes candidates only from the answer.
    var late: LateCandidates?
    let trickles: Bool

    /// Whether the viewer's sound is taken.
    var canSpeak: Bool { negotiation.agreement.sound?.isReceived ?? false }
}
