package import ICE
import Posix
import RTP
package import Time
package import WebRTC

/// One peer's transport on the network thread: its ICE agent, and the agent's events until they are taken.
///
/// If an address of the machine is gone, another agent with the same credentials replaces the one there. The peer need not be told: it takes
/// the first check from the new address as that of a peer-reflexive candidate (RFC 8445 §7.3.1.3).
package final class PeerTransport {
    enum Event {
        case connected, failed
        /// The path in use is that of another agent.
        case moved
        case datagram([UInt8])
    }

    /// The ICE generation of a successor, relative to the agent in use.
    enum Generation {
        case current
        /// That of an ICE restart, before and after the peer has accepted it.
        case proposed, accepted
    }

    /// The next agent.
    struct Successor {
        let way: Way
        var generation = Generation.current
        /// When this side uses its path, unless the peer has before; nil to wait for the peer.
        var choiceAt: Instant?
        /// When it is given up.
        var end: Instant
    }

    /// The most relays that libnice takes.
    private static let mostServers = 8
    /// The longest time for STUN and TURN servers.
    private static let gatheringLimit = Duration.seconds(2)
    /// The time to seek another path. After it, `ICEAgent` gives up a path without consent.
    static let seekingTime = Duration.seconds(50)

    var agents: Agents
    private let trickles: Bool
    private let identity: DTLSIdentity
    /// The beginning of the present gathering.
    private var since: Instant
    var way: Way
    var successor: Successor?
    /// How often the peer was told of another path.
    var moves: UInt32 = 0
    /// The deadline for the peer's first datagram on a path that this side has chosen; nil on other paths.
    var proofAt: Instant?
    /// Whether no datagram came by then.
    var isDisproved = false
    /// When the login of a relay is renewed.
    var renewalAt: Instant?
    private var hasFailed = false
    /// The candidates that a trickling peer was told, and whether these are all. Nil until the peer is told this side's description.
    private var told: (candidates: [Candidate], isComplete: Bool)?
    var remote: (credentials: ICECredentials?, candidates: [Candidate]) = (nil, [])

    /// - Parameter trickles: whether the peer is told as soon as one candidate is known, and of others later.
    /// - Returns: nil if no UDP port is free, or the machine has no address.
    init?(
        _ agents: Agents,
        identity: DTLSIdentity,
        trickles: Bool = false,
        addresses: Set<String>,
        now: Instant
    ) {
        guard let way = agents.begin(from: addresses) else { return nil }
        (self.agents, self.way, self.identity) = (agents, way, identity)
        (self.trickles, since) = (trickles, now)
        noteWay(at: now)
    }

    // MARK: - Signalling

    /// This side's credentials of the current generation, and the candidates gathered so far; nil without memory.
    package var local: TransportParameters? {
        newest.agent.credentials.map { credentials in
            let candidates = newest.agent.candidates
            var local = TransportParameters(
                credentials: credentials,
                fingerprints: [identity.fingerprint],
                candidates: candidates
            )
            local.isTrickling = !(told?.isComplete ?? true)
            return local
        }
    }

    var newest: Way { successor?.way ?? way }

    func setRemote(_ credentials: ICECredentials) {
        remote = (credentials, [])
        newest.agent.setRemote(credentials)
    }

    /// Has the agent try those of the peer's addresses that can be tried.
    package func addRemote(_ candidates: [Candidate]) {
        remote.candidates += candidates
        newest.agent.addRemote(candidates)
    }

    /// Begins a new generation of ICE (RFC 8445 §9).
    package func restart(with credentials: ICECredentials) {
        newest.agent.restart()
        setRemote(credentials)
    }

    /// Uses further servers from now on. `takeGathered` tells their candidates.
    package func add(_ servers: [ICEServer], at now: Instant) {
        let known = agents.configuration.servers
        let added = servers.filter { !known.contains($0) }.prefix(max(0, Self.mostServers - known.count))
        guard !added.isEmpty else { return }
        agents.configuration.servers += added
        for server in added { newest.agent.add(server) }
        newest.mailbox.hasGathered = false
        (since, told) = (now, nil)
    }

    /// Whether this side's description is ready. For a peer that trickles, one candidate is enough; else all must be known, or the time be up.
    /// True is returned once.
    func takeGathered(at now: Instant) -> Bool {
        guard told == nil else { return false }
        let isComplete = isComplete(at: now)
        let candidates = trickles ? newest.agent.candidates : []
        guard isComplete || !candidates.isEmpty else { return false }
        if isComplete, agents.configuration.isRelayOnly, newest.agent.candidates.isEmpty { agents.silent.doubt() }
        told = (candidates, isComplete)
        return true
    }

    /// The further candidates for the peer, each returned once; nil while there are none.
    func takeFurther(at now: Instant) -> TrickleFragment? {
        guard let told, !told.isComplete else { return nil }
        let isComplete = isComplete(at: now)
        let candidates = newest.agent.candidates.filter { !told.candidates.contains($0) }
        guard isComplete || !candidates.isEmpty else { return nil }
        self.told = (told.candidates + candidates, isComplete)
        return TrickleFragment(credentials: newest.agent.credentials, candidates: candidates, isLast: isComplete)
    }

    /// Whether all candidates are known or the time is up.
    private func isComplete(at now: Instant) -> Bool {
        if newest.mailbox.hasGathered { return true }
        guard now >= since + Self.gatheringLimit else { return false }
        agents.silent.doubt()
        return true
    }

    /// The end of the time for candidates; nil if all were told.
    var gatheringEnd: Instant? { told?.isComplete ?? false ? nil : since + Self.gatheringLimit }

    /// When to call `takeGathered` and `takeEvents` if no event comes before.
    var deadline: Instant? { earliest(gatheringEnd, movingDeadline, renewalAt, proofAt) }

    private var movingDeadline: Instant? { successor.map { $0.choiceAt ?? $0.end } }

    // MARK: - Restarting

    /// Whether an ICE restart is prepared that the peer has not accepted.
    var isProposing: Bool { successor?.generation == .proposed }

    /// Prepares another generation of ICE, with an agent of its own (RFC 8445 §9). `local` describes it when it has gathered. The path in use
    /// stays until the new one stands.
    ///
    /// - Returns: whether it is under way.
    func propose(from addresses: Set<String>, at now: Instant) -> Bool {
        guard remote.credentials != nil, !isProposing, let way = agents.begin(from: addresses) else { return false }
        successor = Successor(way: way, generation: .proposed, end: now + Self.seekingTime)
        // It may have gathered already: without servers, libnice has at once.
        (since, told) = (now, nil)
        return true
    }

    /// The peer has accepted the ICE restart.
    ///
    /// - Parameter candidates: the peer's new ones; empty if they stay the same.
    /// - Returns: false if this side has given the restart up.
    package func acceptProposal(_ credentials: ICECredentials, _ candidates: [Candidate], at now: Instant) -> Bool {
        guard isProposing else { return false }
        successor?.generation = .accepted
        successor?.end = now + Self.seekingTime
        let candidates = candidates.isEmpty ? remote.candidates : candidates
        setRemote(credentials)
        addRemote(candidates)
        return true
    }

    /// The peer stays with the generation that is in use.
    package func abandonProposal() { if isProposing { successor = nil } }

    // MARK: - Media

    var hasEvents: Bool { !way.mailbox.events.isEmpty || !(successor?.way.mailbox.events.isEmpty ?? true) }

    func takeEvents(at now: Instant) -> [Event] {
        tick(at: now)
        var events: [Event] = []
        for event in exchange(&way.mailbox.events, with: []) {
            switch event {
            case .connected: events.append(.connected)
            case .failed: hasFailed = true
            case .datagram(let bytes):
                (proofAt, isDisproved) = (nil, false)
                events.append(.datagram(bytes))
            }
        }
        if let next = successor?.way {
            for event in exchange(&next.mailbox.events, with: []) {
                switch event {
                case .connected:
                    if way.agent === next.agent { break }
                    (way, successor, hasFailed, isDisproved) = (next, nil, false, false)
                    noteWay(at: now)
                    // A path is news to a session that has none.
                    events += [.connected, .moved]
                case .failed: successor = nil
                case .datagram(let bytes): events.append(.datagram(bytes))
                }
            }
        }
        if hasFailed, successor == nil {
            hasFailed = false
            events.append(.failed)
        }
        return events
    }

    var path: (local: Candidate, remote: Candidate)? { way.agent.path }

    /// Sends past the agent if the path allows it, as the agent takes datagrams one by one. Returns how many were taken.
    func send(_ batch: borrowing DatagramBatch) -> Int {
        let (bytes, starts, ends) = (batch.bytes, batch.starts, batch.ends)
        return way.agent.withDirectPath {
            UDPSocket.send(bytes, starts: starts, ends: ends, by: $0, to: $1, size: $2)
        } ?? sendOneByOne(batch)
    }

    /// Until the system takes none for now.
    private func sendOneByOne(_ batch: borrowing DatagramBatch) -> Int {
        for index in 0..<batch.count {
            guard batch[index].withUnsafeBytes({ way.agent.send($0) }) else { return index }
        }
        return batch.count
    }
}
