import HTTP
import Time

extension NetworkAllowance {
    /// Those of a network who are turned away: how often that is told. They may come again every few seconds, for hours.
    static var ofToldRefusals: NetworkAllowance { NetworkAllowance(limit: 1, recovery: .seconds(60)) }
}

/// How much work viewers of one network may make this machine do on their behalf, over all of them: whoever has the link could
/// otherwise have it send STUN to any address for ever, or read offers of no use. Sans-IO.
struct ViewerLimits {
    /// Addresses of one viewer that are tried, over all restarts. A viewer is found without them too, by its own checks.
    static let candidatesOfOneViewer = 64
    /// Addresses of all viewers of a network: the most at once, and the interval in which another one is allowed.
    static let candidatesOfOneNetwork = (limit: 512, recovery: Duration.seconds(1))
    /// The time between two viewers of a network, or two restarts, in the long run.
    static let startInterval = Duration.milliseconds(250)

    private var candidates = NetworkAllowance(
        limit: candidatesOfOneNetwork.limit,
        recovery: candidatesOfOneNetwork.recovery
    )
    private var starts: NetworkAllowance
    /// Wishes to speak of a network: the most at once, and the interval in which another one is allowed.
    private var wishes = NetworkAllowance(limit: 10, recovery: .seconds(3))
    /// Offers and fragments of a network that are of no use: the most at once, and the interval in which another one is read.
    static let uselessOfOneNetwork = (limit: 20, recovery: Duration.seconds(1))
    private var useless = NetworkAllowance(limit: uselessOfOneNetwork.limit, recovery: uselessOfOneNetwork.recovery)

    /// - Parameter viewerLimit: the most viewers, all of whom may come again at once and be behind one address.
    init(viewerLimit: Int) {
        starts = NetworkAllowance(limit: max(64, 2 * viewerLimit), recovery: Self.startInterval)
    }

    /// Whether a viewer may come, or begin a new generation of ICE.
    mutating func mayStart(_ address: String, now: Instant) -> Bool { starts.take(from: address, now: now) == 1 }

    /// A viewer wishes to speak. Returns in how many seconds it may, if it may not now.
    mutating func waitToAsk(_ address: String, now: Instant) -> Int? {
        wishes.take(from: address, now: now) == 1 ? nil : wishes.wait(of: address, now: now)
    }

    /// An offer or fragment was read that is of no use.
    mutating func noteUseless(_ address: String, now: Instant) { _ = useless.take(from: address, now: now) }

    /// Returns in how many seconds an offer or fragment is read, if none is now.
    mutating func waitToBeRead(_ address: String, now: Instant) -> Int? {
        useless.isSpent(by: address, now: now) ? useless.wait(of: address, now: now) : nil
    }

    /// Returns how many of the candidates may be tried.
    mutating func admit(_ count: Int, of address: String, now: Instant) -> Int {
        candidates.take(count, from: address, now: now)
    }
}
