import WebRTC

/// Why somebody is not in a call, or no longer: one word for the other side, for headers of HTTP, and for programs.
package enum EndReason: String, Codable, Sendable {
    /// Who was asked said no.
    case rejected
    case noAnswer = "no_answer"
    /// All places are taken.
    case busy
    /// Media goes by relays alone, and none works.
    case noRelay = "no_relay"
    /// The other side left.
    case hungUp = "hung_up"
    /// Was sent away.
    case kicked
    /// The way there is lost.
    case lost
    /// This side left.
    case ended
    /// The two do not understand each other, or one refuses the other.
    case failed
}

extension EndReason {
    /// What the end of a peer's session means. Who was sent away ends as whoever this side leaves.
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
