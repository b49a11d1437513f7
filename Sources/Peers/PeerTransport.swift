import Posix
import RTP
import Time
import WebRTC

/// One peer's way on the network thread: its ICE agent, and the agent's events until they are taken.
final class PeerTransport {
    enum Event {
        case connected, failed
        case datagram([UInt8])
    }

    /// Events of the agent, until the loop takes them: no event may change a session while that sends.
    private final class Mailbox {
        /// The most events that wait; datagrams beyond it are dropped. No honest peer sends as many between two rounds of the loop.
        static let limit = 1024

        var events: [Event] = []
        var hasGathered = false
    }

    /// How long STUN and TURN servers are waited for.
    private static let gatheringLimit = Duration.seconds(2)

    private let agent: ICEAgent
    private let identity: DTLSIdentity
    private let mailbox: Mailbox
    private let since: Instant
    private var hasToldLocal = false

    /// - Returns: nil if no UDP port is free, or the machine has no address.
    init?(
        in loop: ICELoop,
        _ ice: ICEAgent.Configuration,
        isControlling: Bool,
        identity: DTLSIdentity,
        now: Instant
    ) {
        let mailbox = Mailbox()
        let agent = ICEAgent(in: loop, ice, isControlling: isControlling) { event in
            switch event {
            case .gathered: mailbox.hasGathered = true
            case .connected: mailbox.events.append(.connected)
            case .failed: mailbox.events.append(.failed)
            case .datagram(let bytes):
                if mailbox.events.count < Mailbox.limit { mailbox.events.append(.datagram(Array(bytes))) }
            }
        }
        guard let agent else { return nil }
        (self.agent, self.identity, self.mailbox) = (agent, identity, mailbox)
        since = now
    }

    // MARK: - Signalling

    /// This side's credentials of the current generation, and the candidates gathered so far; nil without memory.
    var local: TransportParameters? {
        agent.credentials.map {
            TransportParameters(
                credentials: $0,
                fingerprints: [identity.fingerprint],
                candidates: agent.candidates
            )
        }
    }

    func setRemote(_ credentials: ICECredentials) { agent.setRemote(credentials) }

    func addRemote(_ candidates: [Candidate]) { agent.addRemote(candidates) }

    func restart() { agent.restart() }

    /// Whether all candidates are known or the time is up. The answer is given once.
    func takeGathered(at now: Instant) -> Bool {
        guard !hasToldLocal, mailbox.hasGathered || now >= since + Self.gatheringLimit else { return false }
        hasToldLocal = true
        return true
    }

    /// When the time for candidates is up; nil if they were told.
    var deadline: Instant? { hasToldLocal ? nil : since + Self.gatheringLimit }

    // MARK: - Media

    var hasEvents: Bool { !mailbox.events.isEmpty }

    func takeEvents() -> [Event] {
        defer { mailbox.events.removeAll() }
        return mailbox.events
    }

    var path: (local: Candidate, remote: Candidate)? { agent.path }

    /// Sends past the agent where the path allows it, as the agent takes datagrams one by one. Returns how many were taken.
    func send(_ batch: borrowing DatagramBatch) -> Int {
        let (bytes, starts, ends) = (batch.bytes, batch.starts, batch.ends)
        return agent.withDirectPath {
            UDPSocket.send(bytes, starts: starts, ends: ends, by: $0, to: $1, size: $2)
        } ?? agent.send(batch)
    }
}
