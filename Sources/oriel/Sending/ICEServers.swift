import HTTP
import ICE
import Peers
import Posix
import Synchronization

/// The STUN and TURN servers, as this machine uses them.
struct ICEServers {
    /// The configuration of agents. Relays by TLS are in it once their tunnels have started.
    private(set) var configuration: ICEAgent.Configuration
    /// The servers of the configuration, to be probed.
    private(set) var watched: [WatchedServer] = []
    /// The relays that are reached by TLS.
    private var secure: [(server: TURNServer, credentials: TURNCredentials)] = []

    init(_ configuration: ICEAgent.Configuration) { self.configuration = configuration }

    var needTunnels: Bool { !secure.isEmpty }

    mutating func add(_ server: STUNServer) throws(UnresolvedHost) {
        let address = try SocketAddress.resolve(host: server.host, port: server.port)
        add(WatchedServer(server.name, .stun(address: address.host, port: server.port)))
    }

    mutating func add(_ server: TURNServer, _ credentials: TURNCredentials) throws(UnresolvedHost) {
        let relaying: ICEServer.Relaying
        switch server.transport {
        case .udp: relaying = .udp
        case .tcp: relaying = .tcp
        case .tls: return secure.append((server, credentials))
        }
        let address = try SocketAddress.resolve(host: server.host, port: server.port)
        add(WatchedServer(server.name, .turn(address: address.host, port: server.port, relaying, credentials)))
    }

    private mutating func add(_ server: WatchedServer) {
        watched.append(server)
        configuration.servers.append(server.server)
    }

    /// Starts the tunnels to relays that are reached by TLS, which libnice does not speak. Close the tunnels after the peers.
    ///
    /// - Parameter failed: is called on a tunnel's thread when its relay cannot be reached, for another reason than before.
    mutating func startTunnels(
        _ trust: TLSTrust,
        failed: @escaping @Sendable () -> Void
    ) throws(HTTPServerError) -> [TLSTunnel] {
        let loopback = configuration.loopback
        var tunnels: [TLSTunnel] = []
        for (server, credentials) in secure {
            let failure = TunnelFailure()
            let tunnel = try TLSTunnel(to: server.host, port: server.port, from: loopback, trust) { error in
                if failure.note(error) { failed() }
            }
            tunnels.append(tunnel)
            add(
                WatchedServer(server.name, .turn(address: loopback, port: tunnel.port, .tcp, credentials)) {
                    failure.last.map { "the relay \(server.host) cannot be used: \($0.sentence(naming: server.name))" }
                }
            )
        }
        return tunnels
    }
}

/// Why a relay that is reached by TLS does not answer.
final class TunnelFailure: Sendable {
    private let error = Mutex<WebClientError?>(nil)

    /// The last one; nil if there was none.
    var last: WebClientError? { error.withLock(\.self) }

    /// Returns whether it is another one than before.
    func note(_ failure: WebClientError) -> Bool {
        error.withLock { error in
            defer { error = failure }
            return error != failure
        }
    }
}

extension ICEAgent.Configuration {
    /// The address at which tunnels to relays begin. libnice reaches a relay only from addresses of the same family.
    var loopback: String {
        let own = addresses.isEmpty ? localAddresses().map(\.host) : addresses
        return own.allSatisfy { $0.contains(":") } ? "::1" : "127.0.0.1"
    }
}
