import WebRTC

/// The reason why there is no call with a peer, or no longer one: a word for the other side, for headers of HTTP, and for programs.
package enum EndReason: String, Codable, Sendable {
    /// One side did not let the other in.
    case rejected
    case noAnswer = "no_answer"
    /// All places are taken.
    case busy
    /// Media goes by relays alone, and none works.
    case noRelay = "no_relay"
    /// The other side left.
    case hungUp = "hung_up"
    /// The peer, or this side, was sent away.
    case kicked
    /// The path is lost, or the server of the call.
    case lost
    /// This side left.
    case ended
    /// The peer's time is over, and it has asked for no more.
    case leaseExpired = "lease_expired"
    /// The peer's invitation is over, or was taken back.
    case revoked
    /// The two do not understand each other, or one refuses the other.
    case failed
}

extension EndReason {
    /// The reason that a peer's session tells. A session does not know of kicks: they end as `ended`.
    init(_ end: PeerSession.End) {
        self =
            switch end {
            case .closedByPeer: .hungUp
            case .closed: .ended
            case .pathLost, .timeout: .lost
            case .insecure: .failed
            }
    }
}
