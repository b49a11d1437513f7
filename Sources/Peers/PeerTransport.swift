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

    /// How long STUN and TURN servers are waited for.
    private static let gatheringLimit = Duration.seconds(2)
    /// How long after a check a path is used that the peer may choose seconds later.
    private static let choosingTime = Duration.milliseconds(100)

    private let loop: ICELoop
    private let configuration: ICEAgent.Configuration
    private let isControlling: Bool
    private let identity: DTLSIdentity
    private let since: Instant
    private var way: Way
    /// What takes the place of `way` once it is connected.
    private var successor: Way?
    /// When the successor's path is used, if the peer has not chosen it: RFC 8445 §12.1.1 allows that once a check has succeeded.
    private var choiceAt: Instant?
    /// When a relay is told anew, before what it was told is too old.
    private var renewalAt: Instant?
    private var hasFailed = false
    private var hasToldLocal = false
    private var remote: (credentials: ICECredentials?, candidates: [Candidate]) = (nil, [])

    /// - Parameter addresses: those that the machine has now.
    /// - Returns: nil if no UDP port is free, or the machine has no address.
    init?(
        in loop: ICELoop,
        _ configuration: ICEAgent.Configuration,
        isControlling: Bool,
        identity: DTLSIdentity,
        addresses: Set<String>,
        now: Instant
    ) {
        guard let way = Self.way(in: loop, configuration, isControlling: isControlling, addresses: addresses) else {
            return nil
        }
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
        addresses: Set<String>
    ) -> Way? {
        let mailbox = Mailbox()
        let agent = ICEAgent(in: loop, configuration, isControlling: isControlling, credentials: credentials) { event in
            switch event {
            case .gathered: mailbox.hasGathered = true
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
                candidates: newest.agent.candidates
            )
        }
    }

    private var newest: Way { successor ?? way }

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

    /// Whether all candidates are known or the time is up. The answer is given once.
    func takeGathered(at now: Instant) -> Bool {
        guard !hasToldLocal, way.mailbox.hasGathered || now >= since + Self.gatheringLimit else { return false }
        hasToldLocal = true
        return true
    }

    /// When the time for candidates is up; nil if they were told.
    var gatheringEnd: Instant? { hasToldLocal ? nil : since + Self.gatheringLimit }

    /// When `takeGathered` or `takeEvents` has something to do that is no news from outside.
    var deadline: Instant? { earliest(gatheringEnd, choiceAt, renewalAt) }

    // MARK: - Moving

    /// Seeks a path from the addresses that the machine has now, if the one in use begins at an address that is gone, or there is
    /// none yet.
    func follow(addresses: Set<String>, at now: Instant) {
        guard remote.credentials != nil, addresses != newest.addresses else { return }
        let path = way.agent.path
        if let path, addresses.contains(path.local.related?.address ?? path.local.address) {
            (successor, choiceAt) = (nil, nil)
            return
        }
        move(from: path, addresses, at: now)
    }

    /// Seeks a path that takes the place of one, or of none.
    private func move(from path: (local: Candidate, remote: Candidate)?, _ addresses: Set<String>, at now: Instant) {
        successor = Self.way(
            in: loop,
            configuration,
            isControlling: isControlling,
            credentials: newest.agent.credentials,
            addresses: addresses
        )
        guard let successor, let remote = remote.credentials else { return }
        successor.agent.setRemote(remote)
        successor.agent.addRemote(path.map { [Self.describable($0.remote)] } ?? self.remote.candidates)
        choiceAt = path == nil || isControlling ? nil : now + Self.choosingTime
    }

    /// A relay's login lasts for a time. Some relays ask for it with each refresh.
    private func noteWay(at now: Instant) {
        renewalAt = configuration.servers.compactMap(\.lifetime).min().map { now + $0 * 0.8 }
    }

    private func renew(at now: Instant) {
        noteWay(at: now)
        guard let path = way.agent.path, path.local.kind == .relayed, successor == nil else { return }
        move(from: path, way.addresses, at: now)
    }

    /// A candidate as a description could have it, which none that was found by checks is in.
    private static func describable(_ candidate: Candidate) -> Candidate {
        var candidate = candidate
        if candidate.kind == .peerReflexive { candidate.kind = .host }
        return candidate
    }

    /// Uses the path that leads from here to where the peer is.
    private func choose(_ path: (local: Candidate, remote: Candidate), _ successor: Way, at now: Instant) {
        choiceAt = nil
        let isRelayed = path.local.kind == .relayed
        let source = (try? SocketAddress.resolve(host: path.remote.address, port: path.remote.port))
            .flatMap { sourceAddress(toward: $0) }
        let local = successor.agent.candidates.first { candidate in
            isRelayed ? candidate.kind == .relayed : candidate.kind == .host && candidate.address == source?.host
        }
        if let local {
            successor.agent.use(local, Self.describable(path.remote))
        } else if !successor.mailbox.hasGathered {
            choiceAt = now + Self.choosingTime
        }
    }

    // MARK: - Media

    var hasEvents: Bool { !way.mailbox.events.isEmpty || !(successor?.mailbox.events.isEmpty ?? true) }

    func takeEvents(at now: Instant) -> [Event] {
        if let renewalAt, renewalAt <= now { renew(at: now) }
        if let choiceAt, choiceAt <= now, let path, let successor { choose(path, successor, at: now) }
        var events: [Event] = []
        take(&way.mailbox.events) { event in
            switch event {
            case .connected: events.append(.connected)
            case .failed: hasFailed = true
            case .datagram(let bytes): events.append(.datagram(bytes))
            }
        }
        if let successor {
            take(&successor.mailbox.events) { event in
                switch event {
                case .connected:
                    guard self.successor != nil else { break }
                    (way, self.successor, hasFailed, choiceAt) = (successor, nil, false, nil)
                    noteWay(at: now)
                    // A path is news to a session that has none.
                    events += [.connected, .moved]
                case .failed: (self.successor, choiceAt) = (nil, nil)
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
