import NIOCore
import Synchronization

/// Counts the open connections, so that neither one network nor all together take what the media need.
final class Connections: Sendable {
    private struct Counts {
        var total = 0
        var byNetwork: [String: Int] = [:]
    }

    private let limits: WebServer.Limits
    private let counts = Mutex(Counts())

    init(_ limits: WebServer.Limits) { self.limits = limits }

    /// Counts a connection until it closes. Returns false when there are as many as may be.
    func add(_ channel: any Channel) -> Bool {
        let network = ClientAddress(channel.remoteAddress).network
        let isAdded = counts.withLock { counts in
            let there = counts.byNetwork[network] ?? 0
            guard counts.total < limits.connections, there < limits.connectionsOfOneNetwork else { return false }
            counts.total += 1
            counts.byNetwork[network] = there + 1
            return true
        }
        if isAdded { channel.closeFuture.whenComplete { [self] _ in remove(network) } }
        return isAdded
    }

    private func remove(_ network: String) {
        counts.withLock { counts in
            counts.total -= 1
            let left = (counts.byNetwork[network] ?? 0) - 1
            counts.byNetwork[network] = left > 0 ? left : nil
        }
    }
}
