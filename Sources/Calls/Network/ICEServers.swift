import HTTP
package import ICE
import Peers
package import Posix

/// The STUN and TURN servers, as this machine uses them.
package struct ICEServers: Sendable {
    /// The configuration of agents. Relays by TLS are in it once their tunnels have started.
    private(set) var configuration: ICEAgent.Configuration
    /// The servers of the configuration, to be probed.
    private(set) var watched: [WatchedServer] = []
    /// The relays that are reached by TLS.
    private var secure: [(name: String, host: String, port: UInt16, credentials: TURNCredentials)] = []

    package init(_ configuration: ICEAgent.Configuration) { self.configuration = configuration }

    package var needTunnels: Bool { !secure.isEmpty }

    /// Adds a STUN server. Looking up its host may take seconds.
    package mutating func addSTUN(_ name: String, host: String, port: UInt16) throws(UnresolvedHost) {
        let address = try SocketAddress.resolve(host: host, port: port)
        add(WatchedServer(name, .stun(address: address.host, port: port)))
    }

    /// Adds a TURN server. Looking up its host may take seconds, unless it is reached by TLS.
    ///
    /// - Parameter name: for people, without the login.
    package mutating func addTURN(
        _ name: String,
        host: String,
        port: UInt16,
        _ transport: TURNTransport,
        _ credentials: TURNCredentials
    ) throws(UnresolvedHost) {
        if transport == .tls { return secure.append((name, host, port, credentials)) }
        let address = try SocketAddress.resolve(host: host, port: port).host
        add(WatchedServer(name, .turn(address: address, port: port, transport == .udp ? .udp : .tcp, credentials)))
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
        for relay in secure {
            let tunnel = try TLSTunnel(to: relay.host, port: relay.port, from: loopback, trust) { _ in failed() }
            tunnels.append(tunnel)
            add(
                WatchedServer(relay.name, .turn(address: loopback, port: tunnel.port, .tcp, relay.credentials)) {
                    tunnel.failure.map { "the relay \(relay.host) cannot be used: \($0.sentence(naming: relay.name))" }
                }
            )
        }
        return tunnels
    }
}

extension ICEAgent.Configuration {
    /// The address at which tunnels to relays begin. libnice reaches a relay only from addresses of the same family.
    var loopback: String {
        let own = addresses.isEmpty ? localAddresses().map(\.host) : addresses
        return own.allSatisfy { $0.contains(":") } ? "::1" : "127.0.0.1"
    }
}
