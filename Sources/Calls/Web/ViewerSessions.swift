import Media
import WebRTC

/// The viewers of a web call by the names of their sessions, with their places and ends. Sans-IO.
struct ViewerSessions: ~Copyable {
    /// How many viewers are told why their sessions ended.
    private static let endedLimit = 64

    var sessions: [String: ViewerSession] = [:]
    var places: ViewerPlaces
    /// The sessions that ended last without their viewers' doing, in order.
    private var ended: [(id: String, reason: EndReason)] = []

    /// - Parameter viewerLimit: the most viewers.
    init(viewerLimit: Int) { places = ViewerPlaces(limit: viewerLimit) }

    /// Notes that a viewer is being answered.
    ///
    /// - Parameter isTrickling: whether further candidates may be found.
    /// - Returns: the session with its completion, which is given once; nil if there is none.
    mutating func answer(_ id: String, isTrickling: Bool) -> ViewerSession? {
        guard let session = sessions[id] else { return nil }
        sessions[id]?.completion = nil
        if session.trickles { sessions[id]?.late = LateCandidates(isComplete: !isTrickling) }
        return session
    }

    mutating func connect(_ id: String) -> ViewerSession? {
        if sessions[id] != nil { places.connect(id) }
        return sessions[id]
    }

    // MARK: - Ends

    /// Gives away the place of a viewer that has not connected.
    ///
    /// - Returns: its peer, which is to be closed; nil if it has none.
    mutating func giveAway(_ id: String) -> ParticipantID? {
        places.leave(id)
        sessions[id]?.reason = .busy
        return sessions[id]?.viewer.id
    }

    /// Moves a session whose peer has ended to the ended ones, from which its viewer learns the reason.
    ///
    /// - Parameter end: how the peer ended.
    /// - Returns: the session and the reason of its end; nil if there is no such session.
    mutating func remove(_ id: String, after end: PeerSession.End) -> (session: ViewerSession, reason: EndReason)? {
        guard let session = sessions.removeValue(forKey: id) else { return nil }
        places.leave(id)
        let reason = session.reason ?? EndReason(end)
        if reason != .hungUp { note(reason, forEndOf: id) }
        return (session, reason)
    }

    mutating func note(_ reason: EndReason, forEndOf id: String) {
        ended.append((id, reason))
        ended.removeFirst(max(0, ended.count - Self.endedLimit))
    }

    /// Why a session ended lately without its viewer's doing, or is about to; nil if it did not.
    func reasonForEnd(of id: String) -> EndReason? { sessions[id]?.reason ?? ended.first { $0.id == id }?.reason }
}
