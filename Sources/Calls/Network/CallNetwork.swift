package import HTTP
import ICE
package import Media
package import Peers
package import Posix
import Synchronization

/// The parts that all calls over WebRTC of a sender share: the peers, and the client for requests to servers. Each begins with the first call
/// that needs it. Close it once.
package final class CallNetwork: Sendable {
    package struct Configuration: Sendable {
        package var ice: ICEServers
        /// To trust beside those of the system.
        package var certificates = TrustedCertificates.none
        package var media: SentMedia
        package var firstNumber = 1
        package var suspends: @Sendable () -> sending SuspendWatch? = { try? SuspendWatch() }

        package init(_ ice: ICEServers, _ media: SentMedia) { (self.ice, self.media) = (ice, media) }
    }

    package enum Event: Sendable {
        /// A STUN or TURN server does not work, or works again.
        case server(ServerNews)
        /// A sentence for people alone.
        case note(String)
    }

    private struct Parts {
        var peers: PeerGroup?
        var tunnels: [TLSTunnel] = []
        var prober: ServerProber?
        var client: WebClient?
        var namedServers: NamedServers?
        var networkChanged: (@Sendable () -> Void)?
        var wake: (@Sendable (Duration) -> Void)?
        var followers: [@Sendable () -> Void] = []
        var isClosed = false
    }

    /// After this silence, servers and peers count a connection as lost (RFC 7675 §5.1); some do earlier, and none much later.
    private static let longestNap = Duration.seconds(30)

    package let participants = Participants()
    private let configuration: Configuration
    private let report: @Sendable (Event) -> Void
    private let parts = Mutex(Parts())

    /// - Parameter report: is called on any thread.
    package init(_ configuration: Configuration, report: @escaping @Sendable (Event) -> Void) {
        (self.configuration, self.report) = (configuration, report)
    }

    package var media: SentMedia { configuration.media }

    /// The peers; nil if they have not begun.
    package var begun: PeerGroup? { parts.withLock(\.peers) }

    /// The peers. The first call begins them.
    package func peers() throws -> PeerGroup { try parts.withLock { try peers(in: &$0) } }

    /// The client. The first call begins it, and the peers.
    package func client() throws -> WebClient {
        try parts.withLock { parts in
            if let client = parts.client { return client }
            _ = try peers(in: &parts)
            let client = WebClient(try TLSTrust(alsoTrusting: configuration.certificates))
            parts.client = client
            return client
        }
    }

    /// - Parameter changed: called on the network thread after a change of the machine's addresses or routes, when connections from former
    ///   addresses are cut. Not called without a client.
    package func onNetworkChange(_ changed: @escaping @Sendable () -> Void) {
        parts.withLock { $0.networkChanged = changed }
    }

    /// - Parameter wake: called on the network thread after a suspend of the machine, with its length.
    package func onSuspend(_ wake: @escaping @Sendable (Duration) -> Void) { parts.withLock { $0.wake = wake } }

    /// The STUN and TURN servers that are known to fail.
    ///
    /// - Parameter calls: the calls whose media servers may name servers.
    package func serverFaults(of calls: [String]) -> [ServerNews] {
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
    package func doubtServers() { parts.withLock(\.prober)?.doubt() }

    private func slept(for time: Duration) {
        let (client, wake) = parts.withLock { ($0.client, $0.wake) }
        if time >= Self.longestNap {
            let seconds = Int((time / .seconds(1)).rounded())
            report(.note("this machine was suspended for \(seconds) s: connections are made again"))
            client?.cutConnections()
        }
        wake?(time)
    }

    /// Looks up the relays that WHIP servers name; nil with `--relay-only`, as only the user's relays are used then.
    package func namedServers() throws -> NamedServers? {
        if configuration.ice.configuration.isRelayOnly { return nil }
        return try parts.withLock { parts in
            if let servers = parts.namedServers { return servers }
            let trust = try TLSTrust(alsoTrusting: configuration.certificates, toSpeak: .turn)
            let servers = NamedServers(trust, beside: configuration.ice.configuration, report: report)
            parts.namedServers = servers
            return servers
        }
    }

    /// Closes something after the peers.
    func afterPeers(_ close: @escaping @Sendable () -> Void) {
        let isLate = parts.withLock { parts in
            if !parts.isClosed { parts.followers.append(close) }
            return parts.isClosed
        }
        if isLate { close() }
    }

    /// Says goodbye to the peers.
    package func close() {
        let parts = parts.withLock { exchange(&$0, with: Parts(isClosed: true)) }
        parts.client?.close()
        parts.peers?.close()
        parts.prober?.close()
        for tunnel in parts.tunnels { tunnel.close() }
        parts.namedServers?.close()
        for close in parts.followers { close() }
    }

    private func peers(in parts: inout Parts) throws -> PeerGroup {
        if let peers = parts.peers { return peers }
        guard !parts.isClosed else { throw CallEnd(.tryAgain, "the sender ends") }
        var ice = configuration.ice
        if ice.needTunnels {
            let trust = try TLSTrust(alsoTrusting: configuration.certificates, toSpeak: .turn)
            parts.tunnels = try ice.startTunnels(trust) { [weak self] in self?.doubtServers() }
        }
        var group = PeerGroup.Configuration(media, ice: ice.configuration)
        group.firstNumber = configuration.firstNumber
        group.suspended = { [weak self] in self?.slept(for: $0) }
        group.addressesChanged = { [weak self] in self?.networkChanged(to: $0) }
        group.serversDoubted = { [weak self] in self?.doubtServers() }
        let peers = try PeerGroup(group, suspends: configuration.suspends())
        if !ice.watched.isEmpty { parts.prober = probe(ice.watched, for: peers) }
        media.addSink(peers)
        parts.peers = peers
        return peers
    }

    private func probe(_ servers: [WatchedServer], for peers: PeerGroup) -> ServerProber? {
        do throws(SystemError) {
            return try ServerProber(servers) { [report] news, silent in
                peers.leaveOut(silent)
                for news in news { report(.server(news)) }
            }
        } catch {
            report(.note("nothing tells whether the STUN and TURN servers work (\(error))"))
            return nil
        }
    }
}
