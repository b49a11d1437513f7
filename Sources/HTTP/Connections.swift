import NIOCore
import Posix
import Synchronization

/// Counts open connections, so that neither one network nor all together exceed the limits. For a proxy, the requests
/// under way count for their clients instead of its connections. A connection has at most one request under way. So a
/// client that waits long for a response, listens to events or has a WebSocket takes one place.
///
/// One network leaves half of all places to others, even if it hides many clients without being named as a proxy.
/// Connections without a request under way are worth little to their clients, and cost a server as much as others: few
/// are kept for each network.
final class Connections: Sendable {
    /// Tells the handlers of a connection to close it in favour of another one, if no request is under way by then.
    struct GivenUp: Sendable {}

    /// The place of a connection until it closes.
    struct Place: Sendable {
        fileprivate let channel: any Channel
        /// Nil for a proxy, whose connections belong to no network.
        fileprivate let network: String?
    }

    private struct Counts {
        var total = 0
        var byNetwork: [String: Int] = [:]
        /// The idle connections of each network, the longest idle first.
        var idle: [String: [any Channel]] = [:]
    }

    let proxies: [AddressRange]
    private let limit: Int
    private let limitOfOneNetwork: Int
    private let idleLimit: Int
    private let counts = Mutex(Counts())

    init(_ limits: HTTPLimits, proxies: [AddressRange]) {
        limit = limits.connections
        limitOfOneNetwork = min(limits.connectionsOfOneNetwork, max(limits.connections / 2, 1))
        idleLimit = max(limits.idleConnectionsOfOneNetwork, 1)
        self.proxies = proxies
    }

    /// Counts a connection until it closes. Returns nil if there is no room for it.
    func add(_ channel: any Channel) -> Place? {
        let address = ClientAddress(channel.remoteAddress)
        let isProxy = proxies.contains(address)
        let isAdded = counts.withLock { counts in
            guard counts.total < limit, isProxy || hold(address.network, &counts) else { return false }
            counts.total += 1
            return true
        }
        guard isAdded else { return nil }
        channel.closeFuture.whenComplete { [self] _ in
            counts.withLock { counts in
                counts.total -= 1
                if !isProxy { release(address.network, &counts) }
            }
        }
        return Place(channel: channel, network: isProxy ? nil : address.network)
    }

    /// Marks a connection as idle: no request is under way.
    func rest(_ place: Place) {
        guard let network = place.network else { return }
        let oldest = counts.withLock { counts -> (any Channel)? in
            remove(place.channel, of: network, &counts)
            counts.idle[network, default: []].append(place.channel)
            guard counts.idle[network, default: []].count > idleLimit else { return nil }
            return counts.idle[network]?.removeFirst()
        }
        // Later: the handlers of another connection are running now.
        oldest?.eventLoop.execute { oldest?.pipeline.fireUserInboundEventTriggered(GivenUp()) }
    }

    /// Marks a connection as busy: a request is under way, or it has left HTTP, or is closed.
    func work(_ place: Place) {
        guard let network = place.network else { return }
        counts.withLock { remove(place.channel, of: network, &$0) }
    }

    private func remove(_ channel: any Channel, of network: String, _ counts: inout Counts) {
        guard let index = counts.idle[network]?.firstIndex(where: { $0 === channel }) else { return }
        counts.idle[network]?.remove(at: index)
        if counts.idle[network]?.isEmpty ?? false { counts.idle[network] = nil }
    }

    /// Counts a request by a proxy until it is released. Returns false if there is no room for it.
    func hold(_ client: ClientAddress) -> Bool { counts.withLock { hold(client.network, &$0) } }

    func release(_ client: ClientAddress) { counts.withLock { release(client.network, &$0) } }

    private func hold(_ network: String, _ counts: inout Counts) -> Bool {
        let there = counts.byNetwork[network] ?? 0
        guard there < limitOfOneNetwork else { return false }
        counts.byNetwork[network] = there + 1
        return true
    }

    private func release(_ network: String, _ counts: inout Counts) {
        let left = (counts.byNetwork[network] ?? 0) - 1
        counts.byNetwork[network] = left > 0 ? left : nil
    }
}

extension ClientAddress {
    init(_ address: NIOCore.SocketAddress?) {
        let numbers = address?.ipAddress ?? ""
        self.init(numbers.hasPrefix("::ffff:") ? String(numbers.dropFirst("::ffff:".count)) : numbers)
    }
}
