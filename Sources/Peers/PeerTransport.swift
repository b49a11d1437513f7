import Posix
import RTP
import Time
import WebRTC

/// One peer's way on the network thread: its ICE agent, and the agent's events until they are taken.
///
/// When the machine's addresses change, another agent with the same credentials takes the place of one whose address is gone. The
/// peer need not be told: it takes the first check from there as that of a peer-reflexive candidate (RFC 8445 §7.3.1.3).
final class PeerTransport {
    enum Event {
        case connected, failed
        /// The path in use is that of another agent.
        case moved
        case datagram([UInt8])
    }

    /// Events of an agent, until the loop takes them: no event may change a session while that sends.
    private final class Mailbox {
        /// The most events that wait; datagrams beyond it are dropped. No honest peer sends as many between two rounds of the loop.
        static let limit = 1024

        var events: [ICEEvent] = []
        var hasGathered = false
        /// Whether the peer has sent a check.
        var isChecked = false
    }

    private enum ICEEvent {
        case connected, failed
        case datagram([UInt8])
    }

    /// An agent, and the machine's addresses when it began.
    private struct Way {
        let agent: ICEAgent
        let mailbox: Mailbox
        let addresses: Set<String>
    }

    /// As many relays as libnice takes.
    private static let mostServers = 8
    /// How long STUN and TURN servers are waited for.
    private static let gatheringLimit = Duration.seconds(2)
    /// Of ICE, as seen from the way in use.
    private enum Generation {
        case current
        /// The next one; the peer is yet to take it, or has.
        case proposed, accepted
    }

    /// What is to take the place of the way in use.
    private struct Successor {
        let way: Way
        var generation = Generation.current
        /// When its path is used before the peer has chosen it; nil for not at all.
        var choiceAt: Instant?
        /// When it is given up.
        var end: Instant
    }

    /// How long after the first check a path is used that the peer, where it chooses, would choose seconds later: it goes to where
    /// the peer was.
    private static let choosingTime = Duration.milliseconds(100)
    /// How long the peer may let nothing be heard on such a path.
    private static let proofTime = Duration.seconds(4)
    /// As long as consent lasts that was lost (`ICEAgent`).
    private static let seekingTime = Duration.seconds(50)

    private let loop: ICELoop
    private var configuration: ICEAgent.Configuration
    private let isControlling: Bool
    /// Whether the peer is told as soon as one candidate is known, and of others later.
    private let trickles: Bool
    private let identity: DTLSIdentity
    private let silent: SilentServers
    /// When the candidates that are yet to be told began to be gathered.
    private var since: Instant
    private var way: Way
    private var successor: Successor?
    /// When the peer must have let something be heard on the path that this side has chosen; nil on all others.
    private var proofAt: Instant?
    /// Whether it has not.
    private var isDisproved = false
    /// When a relay is told anew, before what it was told is too old.
    private var renewalAt: Instant?
    private var hasFailed = false
    private var hasToldLocal = false
    /// What the peer was told of, if it is told of others later, and whether these are all.
    private var told: (candidates: [Candidate], isComplete: Bool) = ([], true)
    private var remote: (credentials: ICECredentials?, candidates: [Candidate]) = (nil, [])

    /// - Parameters:
    ///   - trickles: whether the peer is told as soon as one candidate is known, and of others later.
    ///   - silent: servers that no agent uses, whenever it begins.
    ///   - addresses: those that the machine has now.
    /// - Returns: nil if no UDP port is free, or the machine has no address.
    init?(
        in loop: ICELoop,
        _ configuration: ICEAgent.Configuration,
        isControlling: Bool,
        identity: DTLSIdentity,
        trickles: Bool = false,
        without silent: SilentServers = SilentServers(),
        addresses: Set<String>,
        now: Instant
    ) {
        let way = Self.way(
            in: loop,
            configuration,
            isControlling: isControlling,
            without: silent,
            addresses: addresses
        )
        guard let way else { return nil }
        (self.silent, self.trickles) = (silent, trickles)
        (self.loop, self.configuration, self.isControlling) = (loop, configuration, isControlling)
        (self.way, self.identity) = (way, identity)
        since = now
        noteWay(at: now)
    }

    private static func way(
        in loop: ICELoop,
        _ configuration: ICEAgent.Configuration,
        isControlling: Bool,
        credentials: ICECredentials? = nil,
        without silent: SilentServers,
        addresses: Set<String>
    ) -> Way? {
        let mailbox = Mailbox()
        let usable = silent.leftOut(of: configuration)
        if usable.servers.count < configuration.servers.count { silent.doubt() }
        let agent = ICEAgent(in: loop, usable, isControlling: isControlling, credentials: credentials) { event in
            switch event {
            case .gathered: mailbox.hasGathered = true
            case .checked: mailbox.isChecked = true
            case .connected: mailbox.events.append(.connected)
            case .failed: mailbox.events.append(.failed)
            case .datagram(let bytes):
                if mailbox.events.count < Mailbox.limit { mailbox.events.append(.datagram(Array(bytes))) }
            }
        }
        return agent.map { Way(agent: $0, mailbox: mailbox, addresses: addresses) }
    }

    // MARK: - Signalling

    /// This side's credentials of the current generation, and the candidates gathered so far; nil without memory.
    var local: TransportParameters? {
        newest.agent.credentials.map {
            TransportParameters(
                credentials: $0,
                fingerprints: [identity.fingerprint],
                candidates: newest.agent.candidates,
                isTrickling: !told.isComplete
            )
        }
    }

    private var newest: Way { successor?.way ?? way }

    func setRemote(_ credentials: ICECredentials) {
        remote = (credentials, [])
        newest.agent.setRemote(credentials)
    }

    func addRemote(_ candidates: [Candidate]) {
        remote.candidates += candidates
        newest.agent.addRemote(candidates)
    }

    func restart() {
        remote = (nil, [])
        newest.agent.restart()
    }

    /// Uses servers from now on, and has what they give told by `takeGathered` once more.
    func add(_ servers: [ICEServer], at now: Instant) {
        let added = servers.filter { !configuration.servers.contains($0) }
            .prefix(max(0, Self.mostServers - configuration.servers.count))
        guard !added.isEmpty else { return }
        configuration.servers += added
        for server in added { newest.agent.add(server) }
        newest.mailbox.hasGathered = false
        (since, hasToldLocal) = (now, false)
    }

    /// Whether the peer can be told of this side: all candidates are known or the time is up; or, where others are told later, one is
    /// known. The answer is given once.
    func takeGathered(at now: Instant) -> Bool {
        if hasToldLocal { return false }
        let isComplete = isComplete(at: now)
        let candidates = trickles ? newest.agent.candidates : []
        guard isComplete || !candidates.isEmpty else { return false }
        if isComplete, configuration.isRelayOnly, newest.agent.candidates.isEmpty { silent.doubt() }
        (hasToldLocal, told) = (true, (candidates, isComplete))
        return true
    }

    /// The candidates that the peer was not told of yet, with whether these are all; nil while there is nothing to tell. The answer is
    /// given once.
    func takeFurther(at now: Instant) -> TrickleFragment? {
        guard hasToldLocal, !told.isComplete else { return nil }
        let isComplete = isComplete(at: now)
        let candidates = newest.agent.candidates.filter { !told.candidates.contains($0) }
        guard isComplete || !candidates.isEmpty else { return nil }
        told = (told.candidates + candidates, isComplete)
        return TrickleFragment(credentials: newest.agent.credentials, candidates: candidates, isLast: isComplete)
    }

    /// Whether all candidates are known or the time is up.
    private func isComplete(at now: Instant) -> Bool {
        if newest.mailbox.hasGathered { return true }
        guard now >= since + Self.gatheringLimit else { return false }
        silent.doubt()
        return true
    }

    /// When the time for candidates is up; nil if all were told.
    var gatheringEnd: Instant? { hasToldLocal && told.isComplete ? nil : since + Self.gatheringLimit }

    /// When `takeGathered` or `takeEvents` has something to do that is no news from outside.
    var deadline: Instant? { earliest(gatheringEnd, movingDeadline, renewalAt, proofAt) }

    private var movingDeadline: Instant? { successor.map { $0.choiceAt ?? $0.end } }

    // MARK: - Restarting

    /// Whether another generation is prepared that the peer has not taken.
    var isProposing: Bool { successor?.generation == .proposed }

    /// Prepares another generation of ICE, with an agent of its own (RFC 8445 §9). When it has gathered, `local` is what the peer is to
    /// be told. The path in use stays until the other one stands, whatever the peer says.
    ///
    /// - Parameter addresses: those that the machine has now.
    /// - Returns: whether it is under way.
    func propose(from addresses: Set<String>, at now: Instant) -> Bool {
        guard remote.credentials != nil, !isProposing else { return false }
        let way = Self.way(
            in: loop,
            configuration,
            isControlling: isControlling,
            without: silent,
            addresses: addresses
        )
        guard let way else { return false }
        successor = Successor(way: way, generation: .proposed, end: now + Self.seekingTime)
        // It may have gathered already: without servers, libnice has at once.
        (since, hasToldLocal) = (now, false)
        return true
    }

    /// The peer has taken the generation that was proposed.
    ///
    /// - Parameter candidates: the peer's; empty where they stay the same.
    /// - Returns: false if it was given up meanwhile.
    func acceptProposal(_ credentials: ICECredentials, _ candidates: [Candidate], at now: Instant) -> Bool {
        guard isProposing else { return false }
        successor?.generation = .accepted
        successor?.end = now + Self.seekingTime
        let candidates = candidates.isEmpty ? remote.candidates : candidates
        setRemote(credentials)
        addRemote(candidates)
        return true
    }

    /// The peer does not take the generation that was proposed.
    func abandonProposal() { if isProposing { successor = nil } }

    // MARK: - Moving

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
    private func noteWay(at now: Instant) { renewalAt = lifetime.map { now + $0 * 0.8 } }

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
    private func tick(at now: Instant) {
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

    // MARK: - Media

    var hasEvents: Bool { !way.mailbox.events.isEmpty || !(successor?.way.mailbox.events.isEmpty ?? true) }

    func takeEvents(at now: Instant) -> [Event] {
        tick(at: now)
        var events: [Event] = []
        take(&way.mailbox.events) { event in
            switch event {
            case .connected: events.append(.connected)
            case .failed: hasFailed = true
            case .datagram(let bytes):
                (proofAt, isDisproved) = (nil, false)
                events.append(.datagram(bytes))
            }
        }
        if let next = successor?.way {
            take(&next.mailbox.events) { event in
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

    private func take(_ events: inout [ICEEvent], _ body: (ICEEvent) -> Void) {
        let taken = events
        events = []
        for event in taken { body(event) }
    }

    var path: (local: Candidate, remote: Candidate)? { way.agent.path }

    /// Sends past the agent where the path allows it, as the agent takes datagrams one by one. Returns how many were taken.
    func send(_ batch: borrowing DatagramBatch) -> Int {
        let (bytes, starts, ends) = (batch.bytes, batch.starts, batch.ends)
        return way.agent.withDirectPath {
            UDPSocket.send(bytes, starts: starts, ends: ends, by: $0, to: $1, size: $2)
        } ?? way.agent.send(batch)
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
