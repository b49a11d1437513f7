import NIOCore
import Synchronization

/// Counts the open connections, so that neither one network nor all together exceed the limits. For a proxy, the requests
/// under way count for their clients instead of its connections.
final class Connections: Sendable {
    private struct Counts {
        var total = 0
        var byNetwork: [String: Int] = [:]
    }

    let proxies: Proxies
    private let limits: HTTPServer.Limits
    private let counts = Mutex(Counts())

    init(_ limits: HTTPServer.Limits, proxies: Proxies) {
        self.limits = limits
        self.proxies = proxies
    }

    /// Counts a connection until it closes. Returns false if there is no room for it.
    func add(_ channel: any Channel) -> Bool {
        let address = ClientAddress(channel.remoteAddress)
        let isProxy = proxies.contains(address.description)
        let isAdded = counts.withLock { counts in
            guard counts.total < limits.connections, isProxy || hold(address.network, &counts) else { return false }
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
    func hold(_ client: String) -> Bool { counts.withLock { hold(ClientAddress(client).network, &$0) } }

    func release(_ client: String) { counts.withLock { release(ClientAddress(client).network, &$0) } }

    private func hold(_ network: String, _ counts: inout Counts) -> Bool {
        let there = counts.byNetwork[network] ?? 0
        guard there < limits.connectionsOfOneNetwork else { return false }
        counts.byNetwork[network] = there + 1
        return true
    }

    private func release(_ network: String, _ counts: inout Counts) {
        let left = (counts.byNetwork[network] ?? 0) - 1
        counts.byNetwork[network] = left > 0 ? left : nil
    }
}
