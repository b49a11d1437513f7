import ICE
import Posix
import Time
import WebRTC

/// Changes of the path: to another address of the machine, or to a relay with another login.
extension PeerTransport {
    /// The wait before this side uses a new path to the peer's old address, if the peer nominates. The peer itself would nominate it seconds
    /// later.
    private static let choosingTime = Duration.milliseconds(100)
    /// The longest silence of the peer on such a path.
    private static let proofTime = Duration.seconds(4)

    /// Seeks a path from the present addresses of the machine, if the one in use begins at a former address, or there is none yet. Call it after
    /// each change: an address may come before its route.
    ///
    /// - Returns: whether the peer may go on sending to an address that is gone.
    func follow(addresses: Set<String>, at now: Instant) -> Bool {
        guard remote.credentials != nil, !isProposing else { return false }
        let path = way.agent.path
        if isDisproved {
            move(from: nil, addresses, at: now)
            return true
        }
        if successor?.generation == .accepted {
            // The peer has no use for the path any more.
            if addresses == newest.addresses { return false }
            move(from: nil, addresses, at: now)
            return true
        }
        if let path, addresses.contains(path.local.related?.address ?? path.local.address) {
            successor = nil
            return false
        }
        if path == nil, addresses == newest.addresses { return false }
        move(from: path, addresses, at: now)
        return path != nil
    }

    /// Seeks another path.
    ///
    /// - Parameter path: the one to replace, to the same end; nil for a path to any end.
    private func move(from path: (local: Candidate, remote: Candidate)?, _ addresses: Set<String>, at now: Instant) {
        // These are of the last generation, as the peer may have restarted ICE meanwhile.
        let credentials = newest.agent.credentials
        let generation = successor?.generation ?? .current
        successor = nil
        // A path that this side chooses is to be the only one, so that a check proves it.
        let chooses = path != nil && !agents.isControlling
        var agents = agents
        if chooses { agents.configuration = agents.configuration.leading(from: path?.local.kind) }
        guard let way = agents.begin(from: addresses, credentials), let remote = remote.credentials else { return }
        let last = path.map { Self.describable($0.remote) }
        if let last, let credentials, !agents.isControlling {
            moves += 1
            way.agent.announce(to: last, credentials, remote, precedence: moves)
        }
        way.agent.setRemote(remote)
        if let last { way.agent.addRemote([last]) }
        if !chooses { way.agent.addRemote(self.remote.candidates.filter { $0 != last }) }
        successor = Successor(
            way: way,
            generation: generation,
            choiceAt: chooses ? now + Self.choosingTime : nil,
            end: now + Self.seekingTime
        )
    }

    /// Sets when an expiring login of a relay is renewed. Some relays check it with each refresh.
    func noteWay(at now: Instant) { renewalAt = lifetime.map { now + $0 * 0.8 } }

    /// The machine was suspended, and its clock stood still. Logins of relays have become older.
    func slept(for time: Duration) { renewalAt = renewalAt.map { $0 - time } }

    private var lifetime: Duration? { agents.configuration.servers.compactMap(\.lifetime).min() }

    private func renew(at now: Instant) {
        noteWay(at: now)
        guard let lifetime, let path = way.agent.path, path.local.kind == .relayed else { return }
        // It counts until the path has moved.
        renewalAt = now + lifetime * 0.05
        if successor == nil { move(from: path, way.addresses, at: now) }
    }

    /// A candidate for a description, in which a peer-reflexive one becomes a host candidate.
    private static func describable(_ candidate: Candidate) -> Candidate {
        var candidate = candidate
        if candidate.kind == .peerReflexive { candidate.kind = .host }
        return candidate
    }

    /// Uses the path from here to the peer's old address, as the peer may still be there.
    private func choose(_ path: (local: Candidate, remote: Candidate), _ successor: Way, at now: Instant) {
        let isRelayed = agents.configuration.isRelayOnly || path.local.kind == .relayed
        let source = (try? SocketAddress.resolve(host: path.remote.address, port: path.remote.port))
            .flatMap { sourceAddress(toward: $0) }
        let local = successor.agent.candidates.first { candidate in
            isRelayed ? candidate.kind == .relayed : candidate.kind == .host && candidate.address == source?.host
        }
        if let local {
            self.successor?.choiceAt = nil
            proofAt = now + Self.proofTime
            successor.agent.use(local, Self.describable(path.remote))
        } else if successor.mailbox.hasGathered {
            move(from: nil, successor.addresses, at: now)
        } else {
            self.successor?.choiceAt = now + Self.choosingTime
        }
    }

    /// Does overdue work.
    func tick(at now: Instant) {
        if let renewalAt, renewalAt <= now { renew(at: now) }
        if let successor {
            if let choiceAt = successor.choiceAt, choiceAt <= now, let path = way.agent.path {
                choose(path, successor.way, at: now)
            } else if successor.end <= now {
                self.successor = nil
            }
        }
        if let proofAt, proofAt <= now {
            self.proofAt = nil
            isDisproved = !way.mailbox.isChecked
            if isDisproved, successor == nil { move(from: nil, way.addresses, at: now) }
        }
    }
}

extension ICEAgent.Configuration {
    /// The configuration for a single path that begins with a candidate of the same kind as an earlier path. The local candidate of a relayed
    /// path may also be peer-reflexive, if the relay is behind a NAT. So `isRelayOnly` is never lost.
    func leading(from kind: Candidate.Kind?) -> Self {
        var configuration = self
        configuration.isRelayOnly = isRelayOnly || kind == .relayed
        if !configuration.isRelayOnly { configuration.servers = [] }
        return configuration
    }
}
