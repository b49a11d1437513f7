import Posix
import Time
import WebRTC

/// Other paths than the one in use: from another address of the machine, or by a relay that is told anew.
extension PeerTransport {
    /// How long after the first check a path is used that the peer, where it chooses, would choose seconds later: it goes to where
    /// the peer was.
    private static let choosingTime = Duration.milliseconds(100)
    /// How long the peer may let nothing be heard on such a path.
    private static let proofTime = Duration.seconds(4)

    /// Seeks a path from the addresses that the machine has now, if the one in use begins at an address that is gone, or there is
    /// none yet. Call it after each change: an address or a route may come later than what else belongs to it.
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
            // The path in use is of no use to the peer any more.
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

    /// Seeks a path that takes the place of one, or of none.
    ///
    /// - Parameter path: where it may lead to; nil for anywhere.
    private func move(from path: (local: Candidate, remote: Candidate)?, _ addresses: Set<String>, at now: Instant) {
        // Of the last generation: the peer may have restarted ICE while another path was sought.
        let credentials = newest.agent.credentials
        let generation = successor?.generation ?? .current
        successor = nil
        // Where this side chooses a path, that is to be the only one: a check shows that it leads somewhere.
        let chooses = path != nil && !isControlling
        let way = Self.way(
            in: loop,
            chooses ? configuration.leading(from: path?.local.kind) : configuration,
            isControlling: isControlling,
            credentials: credentials,
            without: silent,
            addresses: addresses
        )
        guard let way, let remote = remote.credentials else { return }
        let last = path.map { Self.describable($0.remote) }
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

    /// Where a relay's login lasts for a time: some relays ask for it with each refresh.
    func noteWay(at now: Instant) { renewalAt = lifetime.map { now + $0 * 0.8 } }

    /// The machine was suspended, and the clock stood still meanwhile: a login of a relay has become older.
    func slept(for time: Duration) { renewalAt = renewalAt.map { $0 - time } }

    private var lifetime: Duration? { configuration.servers.compactMap(\.lifetime).min() }

    private func renew(at now: Instant) {
        noteWay(at: now)
        guard let lifetime, let path = way.agent.path, path.local.kind == .relayed else { return }
        // Until it has moved.
        renewalAt = now + lifetime * 0.05
        if successor == nil { move(from: path, way.addresses, at: now) }
    }

    /// A candidate as a description could have it, which none that was found by checks is in.
    private static func describable(_ candidate: Candidate) -> Candidate {
        var candidate = candidate
        if candidate.kind == .peerReflexive { candidate.kind = .host }
        return candidate
    }

    /// Uses the path that leads from here to where the peer was, as it may still be there.
    private func choose(_ path: (local: Candidate, remote: Candidate), _ successor: Way, at now: Instant) {
        let isRelayed = configuration.isRelayOnly || path.local.kind == .relayed
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

    /// Does what is due.
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
    /// For a single path that begins as an earlier one did. Of a relay's path, the local candidate may also be peer-reflexive, as
    /// where the relay is behind a NAT; so an agent that may use relays alone is followed by such a one whatever the path.
    func leading(from kind: Candidate.Kind?) -> Self {
        var configuration = self
        configuration.isRelayOnly = isRelayOnly || kind == .relayed
        if !configuration.isRelayOnly { configuration.servers = [] }
        return configuration
    }
}
