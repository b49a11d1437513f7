import Posix
package import Time

/// Limits how many of something a network may have at once, and how soon it gets one more. Sans-IO.
package struct NetworkAllowance: Sendable {
    struct Use {
        var count: Int
        /// The instant from which the use is forgiven.
        var since: Instant
    }

    /// The most networks that are remembered, which bounds the memory.
    package static let networkLimit = 4096
    /// For reports of refusals. A refused client may come again every few seconds, for hours.
    static let ofToldRefusals = NetworkAllowance(limit: 1, recovery: .seconds(60))

    private let limit: Int
    private let recovery: Duration
    private(set) var uses: [String: Use] = [:]

    /// - Parameters:
    ///   - limit: the most at once for one network.
    ///   - recovery: the time until one is forgiven, above zero.
    package init(limit: Int, recovery: Duration) {
        self.limit = limit
        self.recovery = recovery
    }

    /// Takes up to `count` for the network of an address. Returns how many it gets.
    package mutating func take(_ count: Int = 1, from address: String, now: Instant) -> Int {
        let network = ClientAddress(address).network
        forgive(network, now: now)
        let taken = min(count, limit - (uses[network]?.count ?? 0))
        if taken > 0 { note(taken, network, now: now) }
        return taken
    }

    /// Whether the network of an address gets no more for now.
    package mutating func isSpent(by address: String, now: Instant) -> Bool {
        let network = ClientAddress(address).network
        forgive(network, now: now)
        return (uses[network]?.count ?? 0) >= limit
    }

    /// Whole seconds until the network of an address gets one more, at least 1.
    package func wait(of address: String, now: Instant) -> Int {
        guard let use = uses[ClientAddress(address).network] else { return 1 }
        return Int(max(use.since + recovery - now, .zero).components.seconds) + 1
    }

    private mutating func forgive(_ network: String, now: Instant) {
        guard let known = uses[network] else { return }
        let earned = Int(max((now - known.since).nanoseconds, 0) / recovery.nanoseconds)
        guard earned > 0 else { return }
        let left = known.count - earned
        uses[network] = left > 0 ? Use(count: left, since: known.since + recovery * earned) : nil
    }

    private mutating func note(_ count: Int, _ network: String, now: Instant) {
        if uses.count >= Self.networkLimit, uses[network] == nil,
            let oldest = uses.min(by: { $0.value.since < $1.value.since })?.key
        {
            uses[oldest] = nil
        }
        uses[network, default: Use(count: 0, since: now)].count += count
    }
}
