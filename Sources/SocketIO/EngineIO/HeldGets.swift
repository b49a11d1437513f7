import DequeModule
import Time

/// The GETs that a server holds until there is something to send, in their order for each network.
struct HeldGets: Sendable {
    private struct Owner: Sendable {
        var sid: String
        var network: String
        var since: Instant
    }

    private struct Line: Sendable {
        var count = 0
        /// The oldest first. Some of them are no longer held.
        var requests = Deque<UInt64>()
    }

    private var owners: [UInt64: Owner] = [:]
    private var lines: [String: Line] = [:]

    func sid(of request: UInt64) -> String? { owners[request]?.sid }

    func count(of network: String) -> Int { lines[network]?.count ?? 0 }

    mutating func add(_ request: UInt64, of sid: String, from network: String, now: Instant) {
        owners[request] = Owner(sid: sid, network: network, since: now)
        lines[network, default: Line()].count += 1
        lines[network]?.requests.append(request)
    }

    mutating func remove(_ request: UInt64) {
        guard let network = owners.removeValue(forKey: request)?.network, let count = lines[network]?.count else {
            return
        }
        if count == 1 { return lines[network] = nil }
        lines[network]?.count = count - 1
        if let waiting = lines[network]?.requests.count, waiting > 2 * count + 32 {
            let owners = owners
            lines[network]?.requests.removeAll { owners[$0] == nil }
        }
    }

    /// The session of a network's oldest held GET, and its arrival.
    mutating func oldest(of network: String) -> (sid: String, since: Instant)? {
        while let first = lines[network]?.requests.first {
            if let owner = owners[first] { return (owner.sid, owner.since) }
            lines[network]?.requests.removeFirst()
        }
        return nil
    }
}
