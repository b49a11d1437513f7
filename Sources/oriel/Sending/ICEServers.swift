import HTTP
import Posix
import Synchronization
import WebRTC

/// The STUN and TURN servers, as this machine uses them.
struct ICEServers {
    /// Without the servers that tunnels lead to.
    private(set) var configuration: ICEAgent.Configuration
    /// Those that are reached by TLS.
    private var secure: [(server: TURNServer, credentials: TURNCredentials)] = []

    init(_ configuration: ICEAgent.Configuration) { self.configuration = configuration }

    var needTunnels: Bool { !secure.isEmpty }

    mutating func add(_ server: STUNServer) throws(UnresolvedHost) {
        let address = try SocketAddress.resolve(host: server.host, port: server.port)
        configuration.servers.append(.stun(address: address.host, port: server.port))
    }

    mutating func add(_ server: TURNServer, _ credentials: TURNCredentials) throws(UnresolvedHost) {
        let relaying: ICEServer.Relaying
        switch server.transport {
        case .udp: relaying = .udp
        case .tcp: relaying = .tcp
        case .tls: return secure.append((server, credentials))
        }
        let address = try SocketAddress.resolve(host: server.host, port: server.port)
        configuration.servers.append(.turn(address: address.host, port: server.port, relaying, credentials))
    }

    /// Begins to lead libnice to relays that are reached by TLS, which it does not speak. Close the tunnels after the peers.
    mutating func startTunnels(_ trust: TLSTrust) throws(HTTPServerError) -> [TLSTunnel] {
        let loopback = configuration.loopback
        var tunnels: [TLSTunnel] = []
        for (server, credentials) in secure {
            // Each viewer tries it: it is told once for each reason.
            let told = Mutex<WebClientError?>(nil)
            let tunnel = try TLSTunnel(to: server.host, port: server.port, from: loopback, trust) { error in
                let isNews = told.withLock { told in
                    defer { told = error }
                    return told != error
                }
                if isNews {
                    let place = "turns:\(urlHost(server.host)):\(server.port)"
                    Console.note("the relay \(server.host) cannot be used: \(error.sentence(naming: place))")
                }
            }
            tunnels.append(tunnel)
            configuration.servers.append(.turn(address: loopback, port: tunnel.port, .tcp, credentials))
        }
        return tunnels
    }
}

extension ICEAgent.Configuration {
    /// Where tunnels to relays begin. libnice asks a relay from addresses of the same family alone.
    var loopback: String {
        let own = addresses.isEmpty ? localAddresses().map(\.host) : addresses
        return own.allSatisfy { $0.contains(":") } ? "::1" : "127.0.0.1"
    }
}
