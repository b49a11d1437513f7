import NIOCore
import Synchronization

/// Counts the open connections, so that neither one network nor all together exceed the limits. For a proxy, the requests
/// under way count for their clients instead of its connections. Each connection has one request under way at the most, so whoever
/// waits long for a response, listens to events or has a WebSocket takes one place.
///
/// One network, and so one that hides many clients without being named as a proxy, leaves half of all places to others.
final class Connections: Sendable {
    private struct Counts {
        var total = 0
        var byNetwork: [String: Int] = [:]
    }

    let proxies: Proxies
    private let limit: Int
    private let limitOfOneNetwork: Int
    private let counts = Mutex(Counts())

    init(_ limits: HTTPServer.Limits, proxies: Proxies) {
        limit = limits.connections
        limitOfOneNetwork = min(limits.connectionsOfOneNetwork, max(limits.connections / 2, 1))
        self.proxies = proxies
    }

    /// Counts a connection until it closes. Returns false if there is no room for it.
    func add(_ channel: any Channel) -> Bool {
        let address = ClientAddress(channel.remoteAddress)
        let isProxy = proxies.contains(address)
        let isAdded = counts.withLock { counts in
            guard counts.total < limit, isProxy || hold(address.network, &counts) else { return false }
            counts.total += 1
            return true
        }
        guard isAdded else { return false }
        channel.closeFuture.whenComplete { [self] _ in
            counts.withLock { counts in
                counts.total -= 1
                if !isProxy { release(address.network, &counts) }
            }
        }
        return true
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
