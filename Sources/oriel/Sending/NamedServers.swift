import Calls
import HTTP
import Posix
import Synchronization
import WebRTC

/// The STUN and TURN servers that media servers name: looks up their addresses, and leads to those that are reached by TLS.
final class NamedServers: Sendable {
    private struct State {
        /// By the call that uses them, and the relay that they lead to.
        var tunnels: [String: [TURNPlace: TLSTunnel]] = [:]
        var isClosed = false
    }

    private struct TURNPlace: Hashable {
        let host: String
        let port: UInt16
    }

    /// Relays of one call: each costs an allocation for each address of this machine.
    private static let mostRelays = 4

    private let trust: TLSTrust
    /// With the servers that the user has named.
    private let configuration: ICEAgent.Configuration
    private let state = Mutex(State())

    init(_ trust: TLSTrust, beside configuration: ICEAgent.Configuration) {
        (self.trust, self.configuration) = (trust, configuration)
    }

    /// - Parameters:
    ///   - call: by its name.
    ///   - found: is called once, on a thread of its own.
    func find(_ servers: [NamedICEServer], for call: String, found: @escaping @Sendable ([ICEServer]) -> Void) {
        let hasSTUN = configuration.servers.contains { if case .stun = $0 { true } else { false } }
        let stun = hasSTUN ? nil : servers.first { $0.service == .stun }
        let wanted = servers.filter { $0.service != .stun }.prefix(Self.mostRelays) + (stun.map { [$0] } ?? [])
        do throws(SystemError) {
            // Names take seconds to be looked up.
            _ = try Thread { [self] in found(find(Array(wanted), for: call)) }
        } catch {
            Console.note("the relays that \(call) names are not used (\(error))")
        }
    }

    private func find(_ servers: [NamedICEServer], for call: String) -> [ICEServer] {
        let secure = servers.filter { if case .turn(.tls, _, _) = $0.service { true } else { false } }
        let loopback = configuration.loopback
        let places = Set(secure.map { TURNPlace(host: $0.host, port: $0.port) })
        let tunnels = lead(to: places, from: loopback, for: call)
        return servers.compactMap { server -> ICEServer? in
            do throws(UnresolvedHost) {
                switch server.service {
                case .turn(.tls, let username, let password):
                    guard let tunnel = tunnels[TURNPlace(host: server.host, port: server.port)] else { return nil }
                    let login = TURNCredentials.password(username: username, password: password)
                    return .turn(address: loopback, port: tunnel.port, .tcp, login)
                case .turn(let transport, let username, let password):
                    let address = try SocketAddress.resolve(host: server.host, port: server.port)
                    let login = TURNCredentials.password(username: username, password: password)
                    return .turn(address: address.host, port: server.port, transport == .udp ? .udp : .tcp, login)
                case .stun:
                    let address = try SocketAddress.resolve(host: server.host, port: server.port)
                    return .stun(address: address.host, port: server.port)
                }
            } catch {
                Console.note("\(call) names a relay that cannot be used: \(error)")
                return nil
            }
        }
    }

    /// Has tunnels to these relays, and no others.
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
                let told = Atomic(false)
                do throws(HTTPServerError) {
                    tunnels[place] = try TLSTunnel(to: place.host, port: place.port, from: loopback, trust) { error in
                        if !told.exchange(true, ordering: .relaxed) {
                            let why = error.sentence(naming: "turns:\(urlHost(place.host)):\(place.port)")
                            Console.note("the relay \(place.host), which \(call) names, cannot be used: \(why)")
                        }
                    }
                } catch {
                    Console.note("the relay \(place.host), which \(call) names, cannot be used: \(error)")
                }
            }
            state.tunnels[call] = tunnels
            return (tunnels, before.filter { !places.contains($0.key) }.map(\.value))
        }
        for tunnel in others { tunnel.close() }
        return tunnels
    }

    /// Ends the tunnels. Call it after the peers have ended.
    func close() {
        let tunnels = state.withLock { state in
            defer { state = State(tunnels: [:], isClosed: true) }
            return state.tunnels.values.flatMap(\.values)
        }
        for tunnel in tunnels { tunnel.close() }
    }
}
