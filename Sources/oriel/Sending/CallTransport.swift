import HTTP
import ICE
import Media
import Peers
import Posix
import Sender
import Synchronization
import Time

/// The parts that all calls over WebRTC of a sender share: the peers, and the client for requests to servers. Each begins with the first call
/// that needs it. Close it once.
final class CallTransport: Sendable {
    private struct Parts {
        var peers: PeerGroup?
        var tunnels: [TLSTunnel] = []
        var prober: ServerProber?
        var client: WebClient?
        var namedServers: NamedServers?
        var networkChanged: (@Sendable () -> Void)?
        var wake: (@Sendable (Duration) -> Void)?
        var isClosed = false
    }

    /// After this time of silence, servers and peers take a connection for lost (RFC 7675 §5.1); some earlier, and none much later.
    private static let longestNap = Duration.seconds(30)

    private let ice: ICEServers
    private let certificates: TrustedCertificates
    private let renditions: [Rendition]
    private let (horizon, soundHorizon): (@Sendable () -> Instant?, @Sendable () -> Instant?)
    private let offersSound: @Sendable () -> Bool
    private let voices: (any SoundReceiver)?
    private let firstNumber: Int
    private let sinks: Sinks
    private let suspends: @Sendable () -> sending SuspendWatch?
    private let told: @Sendable (ServerNews) -> Void
    private let parts = Mutex(Parts())

    /// - Parameters:
    ///   - certificates: to trust beside those of the system.
    ///   - renditions, horizon, soundHorizon, offersSound, voices: of the `PeerGroup`.
    ///   - firstNumber: of the first peer.
    ///   - sinks: get that group.
    ///   - suspends: makes a watch for suspends of the machine.
    ///   - told: is called when a STUN or TURN server does not work, and when it works again.
    init(
        _ ice: ICEServers,
        trusting certificates: TrustedCertificates,
        renditions: [Rendition],
        horizon: @escaping @Sendable () -> Instant?,
        soundHorizon: @escaping @Sendable () -> Instant? = { nil },
        offersSound: @escaping @Sendable () -> Bool = { false },
        voices: (any SoundReceiver)? = nil,
        countingFrom firstNumber: Int = 1,
        sinks: Sinks,
        suspends: @escaping @Sendable () -> sending SuspendWatch? = { try? SuspendWatch() },
        told: @escaping @Sendable (ServerNews) -> Void = { _ in }
    ) {
        (self.ice, self.certificates, self.renditions) = (ice, certificates, renditions)
        (self.horizon, self.soundHorizon) = (horizon, soundHorizon)
        (self.offersSound, self.voices, self.firstNumber) = (offersSound, voices, firstNumber)
        (self.sinks, self.suspends, self.told) = (sinks, suspends, told)
    }

    /// The peers if they have begun.
    var begun: PeerGroup? { parts.withLock(\.peers) }

    /// The peers, which begin if they have not.
    func peers() throws -> PeerGroup { try parts.withLock { try peers(in: &$0) } }

    /// The client, which begins, and the peers with it, if it has not.
    func client() throws -> WebClient {
        try parts.withLock { parts in
            if let client = parts.client { return client }
            _ = try peers(in: &parts)
            let client = WebClient(try TLSTrust(alsoTrusting: certificates))
            parts.client = client
            return client
        }
    }

    /// - Parameter changed: is called on the network thread when the machine's addresses or routes have changed, once connections from
    ///   addresses that are gone are cut; not without a client.
    func onNetworkChange(_ changed: @escaping @Sendable () -> Void) {
        parts.withLock { $0.networkChanged = changed }
    }

    /// - Parameter wake: is called on the network thread when the machine was suspended, with for how long.
    func onSuspend(_ wake: @escaping @Sendable (Duration) -> Void) { parts.withLock { $0.wake = wake } }

    /// The STUN and TURN servers that do not work, as far as is known.
    ///
    /// - Parameter calls: those whose media servers may name servers.
    func serverFaults(of calls: [String]) -> [ServerNews] {
        let (prober, named) = parts.withLock { ($0.prober, $0.namedServers) }
        return (prober?.faults ?? []) + (named?.faults(of: calls) ?? [])
    }

    private func networkChanged(to addresses: Set<String>) {
        let (client, prober, changed) = parts.withLock { ($0.client, $0.prober, $0.networkChanged) }
        client?.cutConnections(exceptFrom: addresses)
        prober?.networkChanged()
        if client != nil { changed?() }
    }

    /// Has the STUN and TURN servers probed again.
    func doubtServers() { parts.withLock(\.prober)?.doubt() }

    private func slept(for time: Duration) {
        let (client, wake) = parts.withLock { ($0.client, $0.wake) }
        if time >= Self.longestNap {
            Console.note(
                "this machine was suspended for \(rounded(time / .seconds(1))) s: connections are made again"
            )
            client?.cutConnections()
        }
        wake?(time)
    }

    /// Calls back after a while, on the client's thread; never if that cannot begin, or has ended.
    func schedule(in delay: Duration, _ body: @escaping @Sendable () -> Void) {
        try? client().schedule(in: delay, body)
    }

    /// Looks up the relays that WHIP servers name; nil with `--relay-only`, as only the user's relays are used then.
    func namedServers() throws -> NamedServers? {
        if ice.configuration.isRelayOnly { return nil }
        return try parts.withLock { parts in
            if let servers = parts.namedServers { return servers }
            let trust = try TLSTrust(alsoTrusting: certificates, toSpeak: .turn)
            let servers = NamedServers(trust, beside: ice.configuration, told: told)
            parts.namedServers = servers
            return servers
        }
    }

    /// Says goodbye to the peers.
    func close() {
        let parts = parts.withLock { parts in
            defer { parts = Parts(isClosed: true) }
            return parts
        }
        parts.client?.close()
        parts.peers?.close()
        parts.prober?.close()
        for tunnel in parts.tunnels { tunnel.close() }
        parts.namedServers?.close()
    }

    private func peers(in parts: inout Parts) throws -> PeerGroup {
        if let peers = parts.peers { return peers }
        guard !parts.isClosed else { throw Failure(.tryAgain, "the sender ends") }
        var ice = ice
        if ice.needTunnels {
            let trust = try TLSTrust(alsoTrusting: certificates, toSpeak: .turn)
            parts.tunnels = try ice.startTunnels(trust) { [weak self] in self?.doubtServers() }
        }
        let configuration = PeerGroup.Configuration(
            renditions: renditions,
            target: sinks.target,
            ice: ice.configuration,
            horizon: horizon,
            soundHorizon: soundHorizon,
            offersSound: offersSound,
            voices: voices,
            countingFrom: firstNumber
        )
        let peers = try PeerGroup(configuration, suspends: suspends())
        peers.onSuspend { [weak self] in self?.slept(for: $0) }
        peers.onAddressChange { [weak self] in self?.networkChanged(to: $0) }
        peers.onDoubt { [weak self] in self?.doubtServers() }
        if !ice.watched.isEmpty { parts.prober = probe(ice.watched, for: peers) }
        sinks.add(peers)
        parts.peers = peers
        return peers
    }

    private func probe(_ servers: [WatchedServer], for peers: PeerGroup) -> ServerProber? {
        do throws(SystemError) {
            return try ServerProber(servers) { [told] news, silent in
                peers.leaveOut(silent)
                for news in news { told(news) }
            }
        } catch {
            Console.note("nothing tells whether the STUN and TURN servers work (\(error))")
            return nil
        }
    }
}
