import NIOCore
import Posix
import Synchronization

/// Counts the open connections, so that neither one network nor all together exceed the limits. For a proxy, the requests
/// under way count for their clients instead of its connections. Each connection has one request under way at the most, so whoever
/// waits long for a response, listens to events or has a WebSocket takes one place.
///
/// One network, and so one that hides many clients without being named as a proxy, leaves half of all places to others. Connections
/// of which no request is under way are worth little to their clients, and cost a server as much as others: of a network, few are kept.
final class Connections: Sendable {
    /// Tells the handlers of a connection that it is closed for the sake of another one, if no request is under way by then.
    struct GivenUp: Sendable {}

    /// The place that a connection has until it closes.
    struct Place: Sendable {
        fileprivate let connections: Connections
        fileprivate let channel: any Channel
        /// Nil for a proxy, whose connections are nobody's.
        fileprivate let network: String?

        /// No request is under way from now on.
        func rest() { connections.rest(self) }

        /// A request is under way from now on, or the connection is no more one of HTTP, or closed.
        func work() { connections.work(self) }
    }

    private struct Counts {
        var total = 0
        var byNetwork: [String: Int] = [:]
        /// The idle connections of each network, the one that has been idle for longest first.
        var idle: [String: [any Channel]] = [:]
    }

    let proxies: Proxies
    private let limit: Int
    private let limitOfOneNetwork: Int
    private let idleLimit: Int
    private let counts = Mutex(Counts())

    init(_ limits: HTTPLimits, proxies: Proxies) {
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
        return Place(connections: self, channel: channel, network: isProxy ? nil : address.network)
    }

    private func rest(_ place: Place) {
        guard let network = place.network else { return }
        let oldest = counts.withLock { counts -> (any Channel)? in
            remove(place.channel, of: network, &counts)
            counts.idle[network, default: []].append(place.channel)
            guard counts.idle[network, default: []].count > idleLimit else { return nil }
            return counts.idle[network]?.removeFirst()
        }
        // Later: the handlers of another connection are at work now.
        oldest?.eventLoop.execute { oldest?.pipeline.fireUserInboundEventTriggered(GivenUp()) }
    }

    private func work(_ place: Place) {
        guard let network = place.network else { return }
        counts.withLock { remove(place.channel, of: network, &$0) }
    }

    private func remove(_ channel: any Channel, of network: String, _ counts: inout Counts) {
        guard let index = counts.idle[network]?.firstIndex(where: { $0 === channel }) else { return }
        counts.idle[network]?.remove(at: index)
        if counts.idle[network]?.isEmpty ?? false { counts.idle[network] = nil }
    }

    /// Counts a request that came by a proxy, until it is released. Returns false if there is no room for it.
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
