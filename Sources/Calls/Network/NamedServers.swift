package import HTTP
package import ICE
package import Peers
import Posix
import Synchronization

/// The STUN and TURN servers that media servers name. It looks up their addresses, makes tunnels to those that are reached by TLS, and
/// probes each server once, as its login is for one session and may end.
package final class NamedServers: Sendable {
    private struct State {
        /// By call, and by relay.
        var tunnels: [String: [TURNPlace: Tunnel]] = [:]
        /// By call.
        var probers: [String: ServerProber] = [:]
        var isClosed = false
    }

    private struct Tunnel {
        let tunnel: TLSTunnel
        let failure: TunnelFailure
    }

    private struct TURNPlace: Hashable {
        let host: String
        let port: UInt16
    }

    /// The most relays of one call. Each costs an allocation for each address of this machine.
    private static let mostRelays = 4

    private let trust: TLSTrust
    /// With the user's servers.
    private let configuration: ICEAgent.Configuration
    private let report: @Sendable (CallNetwork.Event) -> Void
    private let state = Mutex(State())

    /// - Parameter report: is called on any thread.
    package init(
        _ trust: TLSTrust,
        beside configuration: ICEAgent.Configuration,
        report: @escaping @Sendable (CallNetwork.Event) -> Void
    ) {
        (self.trust, self.configuration, self.report) = (trust, configuration, report)
    }

    /// The servers that are known to fail.
    package func faults(of calls: [String]) -> [ServerNews] {
        state.withLock { state in calls.compactMap { state.probers[$0] } }.flatMap(\.faults)
    }

    /// - Parameter found: is called once, on a thread of its own.
    package func find(
        _ servers: [NamedICEServer],
        for call: String,
        found: @escaping @Sendable ([ICEServer]) -> Void
    ) {
        let hasSTUN = configuration.servers.contains { if case .stun = $0 { true } else { false } }
        let stun = hasSTUN ? nil : servers.first { $0.service == .stun }
        let wanted = servers.filter { $0.service != .stun }.prefix(Self.mostRelays) + (stun.map { [$0] } ?? [])
        do throws(SystemError) {
            // Looking up names takes seconds.
            _ = try Thread { [self] in
                let servers = find(Array(wanted), for: call)
                found(servers.map(\.server))
                probe(servers, for: call)
            }
        } catch {
            report(.note("the relays that \(call) names are not used (\(error))"))
        }
    }

    private func probe(_ servers: [WatchedServer], for call: String) {
        let known = state.withLock { $0.probers[call] }?.known ?? []
        do throws(SystemError) {
            let prober = try ServerProber(servers, knowing: known, repeats: false) { [report] news, _ in
                for news in news { report(.server(news)) }
            }
            let other = state.withLock { state in
                state.isClosed ? prober : state.probers.updateValue(prober, forKey: call)
            }
            other?.close()
        } catch {
            report(.note("nothing tells whether the relays that \(call) names work (\(error))"))
        }
    }

    private func find(_ servers: [NamedICEServer], for call: String) -> [WatchedServer] {
        let secure = servers.filter { if case .turn(.tls, _, _) = $0.service { true } else { false } }
        let loopback = configuration.loopback
        let places = Set(secure.map { TURNPlace(host: $0.host, port: $0.port) })
        let tunnels = lead(to: places, from: loopback, for: call)
        return servers.compactMap { server -> WatchedServer? in
            let port = server.port
            do throws(UnresolvedHost) {
                func address() throws(UnresolvedHost) -> String {
                    try SocketAddress.resolve(host: server.host, port: port).host
                }
                switch server.service {
                case .turn(.tls, let username, let password):
                    guard let relay = tunnels[TURNPlace(host: server.host, port: port)] else { return nil }
                    let login = TURNCredentials.password(username: username, password: password)
                    let near = ICEServer.turn(address: loopback, port: relay.tunnel.port, .tcp, login)
                    return WatchedServer(server.name, near, namedBy: call) {
                        relay.failure.last.map {
                            "the relay \(server.host), which \(call) names, cannot be used: \($0.sentence(naming: server.name))"
                        }
                    }
                case .turn(let transport, let username, let password):
                    let login = TURNCredentials.password(username: username, password: password)
                    let relay = ICEServer.turn(
                        address: try address(),
                        port: port,
                        transport == .udp ? .udp : .tcp,
                        login
                    )
                    return WatchedServer(server.name, relay, namedBy: call)
                case .stun: return WatchedServer(server.name, .stun(address: try address(), port: port), namedBy: call)
                }
            } catch {
                report(.note("\(call) names a relay that cannot be used: \(error)"))
                return nil
            }
        }
    }

    /// Makes tunnels to these relays, and closes all others of the call.
    private func lead(
        to places: Set<TURNPlace>,
        from loopback: String,
        for call: String
    ) -> [TURNPlace: Tunnel] {
        let (tunnels, others) = state.withLock { state -> ([TURNPlace: Tunnel], [Tunnel]) in
            if state.isClosed { return ([:], []) }
            let before = state.tunnels[call] ?? [:]
            var tunnels = before.filter { places.contains($0.key) }
            for place in places where tunnels[place] == nil {
                let failure = TunnelFailure()
                do throws(HTTPServerError) {
                    let tunnel = try TLSTunnel(to: place.host, port: place.port, from: loopback, trust) { error in
                        _ = failure.note(error)
                    }
                    tunnels[place] = Tunnel(tunnel: tunnel, failure: failure)
                } catch {
                    report(.note("the relay \(place.host), which \(call) names, cannot be used: \(error)"))
                }
            }
            state.tunnels[call] = tunnels
            return (tunnels, before.filter { !places.contains($0.key) }.map(\.value))
        }
        for other in others { other.tunnel.close() }
        return tunnels
    }

    /// Ends the probes and the tunnels. Call it after the peers have ended.
    package func close() {
        let state = state.withLock { exchange(&$0, with: State(isClosed: true)) }
        for prober in state.probers.values { prober.close() }
        for tunnel in state.tunnels.values.flatMap(\.values) { tunnel.tunnel.close() }
    }
}

extension NamedICEServer {
    /// As people name it, without its login.
    fileprivate var name: String {
        let place = "\(host.contains(":") ? "[\(host)]" : host):\(port)"
        return switch service {
        case .stun: "stun:\(place)"
        case .turn(let transport, _, _): transport.address(of: place)
        }
    }
}
