import Time
import WebRTC

/// One viewer of a web call, from the negotiation to its end.
struct ViewerSession {
    let connection: PeerConnection
    let viewer: Participant
    let negotiation: Negotiation
    /// The seconds of its lease; nil if it has none.
    let lease: Int?
    /// The viewer's ICE credentials of the current generation.
    var credentials: ICECredentials
    /// Gets the answer, or the refusal; nil once it has been called.
    var completion: (@Sendable (Result<Admission, Refusal>) -> Void)?
    /// Nil before the answer is there, and if the viewer takes candidates only from the answer.
    var late: LateCandidates?
    var isConnected = false
}

/// The viewers of a web call by the names of their sessions, with their places and ends. Sans-IO.
struct ViewerSessions: ~Copyable {
    /// The most ended sessions that are remembered: more than there are viewers, as their leases may expire at once.
    private static let endedLimit = 1024
    /// How long an expired lease is told of.
    private static let expiredTime = Duration.seconds(60)

    var sessions: [String: ViewerSession] = [:]
    var places: ViewerPlaces
    /// The sessions that ended last without their viewers' doing, in order.
    private var ended: [(id: String, reason: EndReason, at: Instant)] = []

    init(viewerLimit: Int) { places = ViewerPlaces(limit: viewerLimit) }

    /// Notes that a viewer is being answered.
    ///
    /// - Parameter isTrickling: whether further candidates may be found.
    /// - Returns: the session with its completion, which is given once; nil if there is none.
    mutating func answer(_ id: String, isTrickling: Bool) -> ViewerSession? {
        guard let session = sessions[id] else { return nil }
        sessions[id]?.completion = nil
        if session.connection.other.trickles { sessions[id]?.late = LateCandidates(isComplete: !isTrickling) }
        return session
    }

    mutating func connect(_ id: String) -> ViewerSession? {
        if sessions[id] != nil { places.connect(id) }
        sessions[id]?.isConnected = true
        return sessions[id]
    }

    // MARK: - Ends

    /// Moves a session whose peer has ended to the ended ones, from which its viewer learns the reason.
    ///
    /// - Returns: nil if there is no such session.
    mutating func remove(_ id: String, _ reason: EndReason, at now: Instant) -> ViewerSession? {
        guard let session = sessions.removeValue(forKey: id) else { return nil }
        places.leave(id)
        if reason != .hungUp { note(reason, forEndOf: id, at: now) }
        return session
    }

    mutating func note(_ reason: EndReason, forEndOf id: String, at now: Instant) {
        ended.append((id, reason, now))
        ended.removeFirst(max(0, ended.count - Self.endedLimit))
    }

    /// The reason for the end of a session, not by its viewer, that was lately or is about to come; nil for none.
    func reasonForEnd(of id: String, at now: Instant) -> EndReason? {
        if let reason = sessions[id]?.connection.reason { return reason }
        guard let end = ended.first(where: { $0.id == id }) else { return nil }
        return end.reason == .leaseExpired && now >= end.at + Self.expiredTime ? nil : end.reason
    }
}
