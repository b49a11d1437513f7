import WebRTC

/// One viewer of a web call, from the negotiation to its end.
struct ViewerSession {
    let viewer: WebCall.Viewer
    /// By what the viewer is known again, as `Visitor.key`; nil for nothing.
    let key: String?
    let negotiation: Negotiation
    /// The viewer's of the current generation.
    var credentials: ICECredentials
    /// How many of the viewer's candidates were given to its peer, over all restarts.
    var candidateCount = 0
    /// Why this side ends it; nil if it does not.
    var reason: EndReason?
    /// Gets the answer, or why there is none; nil once it has been called.
    var completion: (@Sendable (Result<Admission, Refusal>) -> Void)?
    /// Nil until the answer is there, and where the viewer takes candidates in that alone.
    var late: LateCandidates?
    let trickles: Bool

    /// Whether the viewer's sound is taken.
    var canSpeak: Bool { negotiation.agreement.sound?.isReceived ?? false }
}
