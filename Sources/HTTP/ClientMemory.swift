import NIOCore
import Posix
import Synchronization

/// Counts the bytes that wait in this process until clients read them, over all connections of a server: many clients
/// with few unread bytes each may need much in all. Parts of messages and requests that are not whole count too.
/// Buffers count by their size, not by their content.
///
/// Beyond the limit the slowest connection is cut, until the rest is within it: of the network with the most waiting
/// bytes, the connection with the most; among equals, the one that has read nothing for the longest time. If there is a
/// limit for one network, connections beyond it are cut in the same way.
package final class ClientMemory: Sendable {
    /// The waiting bytes of one client, until it is closed.
    package final class Share: Sendable {
        private let memory: ClientMemory
        private let id: UInt64

        fileprivate init(_ memory: ClientMemory, _ id: UInt64) { (self.memory, self.id) = (memory, id) }

        /// Counts bytes that are about to wait. Returns false if they must not wait: the share is closed, or its
        /// connection was cut for them.
        package func add(_ count: Int) -> Bool { memory.add(count, to: id) }

        /// Counts bytes as gone.
        ///
        /// - Parameter isRead: whether the client has read them; false for bytes from the client.
        package func remove(_ count: Int, isRead: Bool = true) { memory.remove(count, from: id, isRead: isRead) }

        /// Counts all bytes as gone. Call it once the connection is closed, or nothing is written any more.
        package func close() { memory.close(id) }
    }

    private struct Count {
        let network: String
        let cut: @Sendable () -> Void
        var bytes = 0
        /// The order of the client's last read among all reads.
        var readAt: UInt64
    }

    private struct State {
        var total = 0
        var totals: [String: Int] = [:]
        var counts: [UInt64: Count] = [:]
        var nextNumber: UInt64 = 0

        mutating func number() -> UInt64 {
            nextNumber += 1
            return nextNumber
        }

        mutating func count(_ bytes: Int, of network: String) {
            total += bytes
            let rest = totals[network, default: 0] + bytes
            totals[network] = rest > 0 ? rest : nil
        }

        /// Removes the share of the slowest connection, of a network or of all.
        mutating func removeSlowest(of network: String? = nil) -> Count? {
            var slowest: (id: UInt64, order: (Int, Int, UInt64))?
            for (id, count) in counts where count.bytes > 0 && count.network == network ?? count.network {
                let order = (totals[count.network] ?? 0, count.bytes, .max - count.readAt)
                if slowest.map({ $0.order < order }) ?? true { slowest = (id, order) }
            }
            return slowest.flatMap { remove($0.id) }
        }

        mutating func remove(_ id: UInt64) -> Count? {
            guard let share = counts.removeValue(forKey: id) else { return nil }
            count(-share.bytes, of: share.network)
            return share
        }
    }

    private let limit: Int
    private let limitOfOneNetwork: Int
    private let state = Mutex(State())

    /// - Parameters:
    ///   - limit: bytes that may wait for all clients together.
    ///   - limitOfOneNetwork: the same for the clients of one network; nil for no such limit.
    package init(limit: Int, ofOneNetwork limitOfOneNetwork: Int? = nil) {
        (self.limit, self.limitOfOneNetwork) = (limit, limitOfOneNetwork ?? limit)
    }

    /// Begins to count for a client.
    ///
    /// - Parameters:
    ///   - network: the client's, from `ClientAddress`.
    ///   - cut: closes the client's connection. It is called at most once, on the thread of another share's `add`.
    package func open(for network: String, cut: @escaping @Sendable () -> Void) -> Share {
        let id = state.withLock { state in
            let id = state.number()
            state.counts[id] = Count(network: network, cut: cut, readAt: id)
            return id
        }
        return Share(self, id)
    }

    func open(for client: ClientAddress, on channel: any Channel) -> Share {
        // Later: the handlers of another connection are running now.
        open(for: client.network) { channel.eventLoop.execute { channel.cut() } }
    }

    private func add(_ count: Int, to id: UInt64) -> Bool {
        let (isThere, slow) = state.withLock { state in
            guard let network = state.counts[id]?.network else { return (false, [] as [Count]) }
            state.counts[id]?.bytes += count
            state.count(count, of: network)
            var slow: [Count] = []
            while state.totals[network] ?? 0 > limitOfOneNetwork, let slowest = state.removeSlowest(of: network) {
                slow.append(slowest)
            }
            while state.total > limit, let slowest = state.removeSlowest() { slow.append(slowest) }
            return (state.counts[id] != nil, slow)
        }
        for count in slow { count.cut() }
        return isThere
    }

    private func remove(_ count: Int, from id: UInt64, isRead: Bool) {
        state.withLock { state in
            guard var share = state.counts[id] else { return }
            share.bytes -= count
            if isRead { share.readAt = state.number() }
            state.counts[id] = share
            state.count(-count, of: share.network)
        }
    }

    private func close(_ id: UInt64) { _ = state.withLock { $0.remove(id) } }
}
