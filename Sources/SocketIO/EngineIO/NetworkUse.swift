import Time

/// The use of a server by the clients of each network. Names of networks mean nothing here.
struct NetworkUse: Sendable {
    private struct Use: Sendable {
        var sessions = 0
        var begins: CreditBudget
        var packets: CreditBudget
    }

    private let limits: EngineLimits
    private var uses: [String: Use] = [:]

    init(_ limits: EngineLimits) { self.limits = limits }

    /// Whether a network may begin one more session, which then counts.
    mutating func begin(_ network: String, now: Instant) -> Bool {
        change(network, now: now) { $0.begins.take(1, now: now) }
    }

    /// Whether a network may send packets of this cost, which then count.
    mutating func pay(_ cost: Double, by network: String, now: Instant) -> Bool {
        change(network, now: now) { $0.packets.take(cost, now: now) }
    }

    mutating func sessionBegan(_ network: String, now: Instant) { change(network, now: now) { $0.sessions += 1 } }

    mutating func sessionEnded(_ network: String) { uses[network]?.sessions -= 1 }

    /// The network with more than half of all places, unless it is the one that wants another.
    func dominant(besides network: String) -> String? {
        uses.first { $0.value.sessions > limits.sessions / 2 && $0.key != network }?.key
    }

    private mutating func change<Result>(_ network: String, now: Instant, _ body: (inout Use) -> Result) -> Result {
        // Networks with a session are no more than the sessions, so at least half of the places become free.
        if uses[network] == nil, uses.count >= 2 * limits.sessions { uses = uses.filter { $0.value.sessions > 0 } }
        let new = Use(
            begins: CreditBudget(limits.begins, now: now),
            packets: CreditBudget(limits.packetsOfNetwork, now: now)
        )
        return body(&uses[network, default: new])
    }
}
