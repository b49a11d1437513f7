import Time

extension EngineServer {
    /// Whether a network has, or can get, a place for one more session.
    func hasRoom(for network: String) -> Bool {
        sessions.count < limits.sessions || networks.dominant(besides: network) != nil
    }

    /// Whether a network may open one more session, which then counts. If no place is left, a network with more than
    /// half of them loses its newest session.
    mutating func mayOpen(from network: String, now: Instant) -> Bool {
        guard hasRoom(for: network), networks.begin(network, now: now) else { return false }
        if sessions.count >= limits.sessions, let dominant = networks.dominant(besides: network),
            let newest = sessions.newest(of: dominant)
        {
            close(newest)
        }
        return true
    }

    /// Counts a session that begins anew without being a new one. Returns whether its network may begin one more.
    mutating func begin(_ sid: String, now: Instant) -> Bool {
        guard let network = sessions[sid]?.network else { return false }
        return networks.begin(network, now: now)
    }

    /// Whether a session may send packets of this cost, which then count.
    mutating func pay(_ cost: Double, by sid: String, now: Instant) -> Bool {
        guard let rest = sessions.pay(cost, by: sid, now: now) else { return false }
        return rest.cost == 0 || networks.pay(rest.cost, by: rest.network, now: now)
    }

    /// Sets when a session ends; nil for never. The last call counts.
    mutating func expire(_ sid: String, at instant: Instant?) { change(sid) { $0.expire(at: instant) } }

    mutating func setKept(_ bytes: Int, for sid: String) {
        sessions.setKept(bytes, for: sid)
        boundKept()
    }

    /// Ends sessions while too much is kept for all of them.
    mutating func boundKept() {
        while sessions.kept > limits.keptBytes, let greatest = sessions.greatest { close(greatest, .slow) }
    }
}
