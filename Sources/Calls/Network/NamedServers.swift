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
        var tunnels: [String: [TURNPlace: TLSTunnel]] = [:]
        /// By call.
        var probers: [String: ServerProber] = [:]
        var isClosed = false
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
        let loopback = configuration.loopback
        let places = Set(servers.filter(\.isSecure).map { TURNPlace(host: $0.host, port: $0.port) })
        let tunnels = lead(to: places, from: loopback, for: call)
        return servers.compactMap { server -> WatchedServer? in
            let tunnel = server.isSecure ? tunnels[TURNPlace(host: server.host, port: server.port)] : nil
            if server.isSecure, tunnel == nil { return nil }
            do throws(UnresolvedHost) {
                let address =
                    tunnel == nil ? try SocketAddress.resolve(host: server.host, port: server.port).host : loopback
                let port = tunnel?.port ?? server.port
                let near: ICEServer =
                    switch server.service {
                    case .stun: .stun(address: address, port: port)
                    case .turn(let transport, let username, let password):
                        .turn(
                            address: address,
                            port: port,
                            transport == .udp ? .udp : .tcp,
                            .password(username: username, password: password)
                        )
                    }
                return WatchedServer(server.name, near, namedBy: call) {
                    tunnel?.failure.map {
                        "the relay \(server.host), which \(call) names, cannot be used: \($0.sentence(naming: server.name))"
                    }
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
    ) -> [TURNPlace: TLSTunnel] {
        let (tunnels, others) = state.withLock { state -> ([TURNPlace: TLSTunnel], [TLSTunnel]) in
            if state.isClosed { return ([:], []) }
            let before = state.tunnels[call] ?? [:]
            var tunnels = before.filter { places.contains($0.key) }
            for place in places where tunnels[place] == nil {
                do throws(HTTPServerError) {
                    tunnels[place] = try TLSTunnel(to: place.host, port: place.port, from: loopback, trust)
                } catch {
                    report(.note("the relay \(place.host), which \(call) names, cannot be used: \(error)"))
                }
            }
            state.tunnels[call] = tunnels
            return (tunnels, before.filter { !places.contains($0.key) }.map(\.value))
        }
        for other in others { other.close() }
        return tunnels
    }

    /// Ends the probes and the tunnels. Call it after the peers have ended.
    package func close() {
        let state = state.withLock { exchange(&$0, with: State(isClosed: true)) }
        for prober in state.probers.values { prober.close() }
        for tunnel in state.tunnels.values.flatMap(\.values) { tunnel.close() }
    }
}

extension NamedICEServer {
    fileprivate var isSecure: Bool { if case .turn(.tls, _, _) = service { true } else { false } }

    /// As people name it, without its login.
    fileprivate var name: String {
        let place = "\(host.contains(":") ? "[\(host)]" : host):\(port)"
        return switch service {
        case .stun: "stun:\(place)"
        case .turn(let transport, _, _): transport.address(of: place)
        }
    }
}
