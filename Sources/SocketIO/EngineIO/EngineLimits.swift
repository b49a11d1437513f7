import Time

/// Limits of a server for its clients: each session, all sessions of one network, and all clients together.
///
/// Work is counted in credits. A packet costs one, and one more for each 2,048 bytes, as the server's work grows with
/// both. A client that begins anew has the credits of its session again, but not those of its network.
package struct EngineLimits: Sendable {
    /// A token bucket: credits at once, and further ones each second.
    package struct Rate: Sendable {
        package var burst: Double
        package var perSecond: Double
    }

    /// Sessions at once.
    package var sessions: Int
    /// Sessions that a network may begin. A connect to a namespace counts as one, except for a session's first.
    package var begins: Rate
    /// Packets of a session. A session that sends more is ended.
    package var packets = Rate(burst: 500, perSecond: 200)
    /// Packets of a session that cost its network nothing.
    package var quietPackets = Rate(burst: 16, perSecond: 2)
    /// All other packets of a network's sessions together.
    package var packetsOfNetwork = Rate(burst: 4000, perSecond: 2000)
    /// GETs of a network that are held at once, at least 1. A further one releases the one that was held longest, once
    /// it was held for `leastHold`.
    package var heldGets: Int
    /// How long a GET is held at least before a further one releases it. Honest clients ask again at once. Without this
    /// time, more of them than `heldGets` would make the server answer without end.
    static let leastHold = Duration.seconds(1)
    /// Bytes kept for all sessions together: those that wait for a client's next request, and packets with missing
    /// parts.
    package var keptBytes = 4_000_000

    package init(sessions: Int) {
        self.sessions = sessions
        begins = Rate(burst: max(16, Double(sessions) / 2), perSecond: 50)
        heldGets = max(1, sessions)
    }

    private static let bytesOfOneCredit = 2048

    /// - Parameter size: bytes of all packets together.
    static func cost(ofPackets count: Int, size: Int) -> Double { Double(count + size / bytesOfOneCredit) }
}

/// Credits that are spent, and return with time.
struct CreditBudget: Sendable {
    private let rate: EngineLimits.Rate
    private var credits: Double
    private var at: Instant

    init(_ rate: EngineLimits.Rate, now: Instant) {
        (self.rate, credits, at) = (rate, rate.burst, now)
    }

    /// Takes credits if there are enough. Returns whether it did.
    mutating func take(_ cost: Double, now: Instant) -> Bool {
        credits = min(credits + (max(now, at) - at).seconds * rate.perSecond, rate.burst)
        at = max(now, at)
        guard cost <= credits else { return false }
        credits -= cost
        return true
    }
}
