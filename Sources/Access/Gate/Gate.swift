package import Time

/// Guards everything that strangers can reach: it checks the token, and limits the work for all viewers of one network.
/// Without limits, anybody with the link could have this machine send STUN to any address for ever, or read malformed
/// offers. Sans-IO.
package struct Gate: Sendable {
    package var token: TokenGuard
    /// Addresses of all viewers of a network.
    private var candidates = NetworkAllowance(limit: 512, recovery: .seconds(1))
    /// Viewers of a network, and their restarts of ICE.
    private var starts: NetworkAllowance
    /// Requests to speak of a network.
    private var wishes = NetworkAllowance(limit: 10, recovery: .seconds(3))
    /// Malformed offers and fragments of a network, and offers for which there is no start or no knock left: the most
    /// at once, and the interval for one more.
    package static let uselessOfOneNetwork = (limit: 20, recovery: Duration.seconds(1))
    private var useless = NetworkAllowance(limit: uselessOfOneNetwork.limit, recovery: uselessOfOneNetwork.recovery)
    private var toldRefusals = NetworkAllowance.ofToldRefusals

    /// - Parameter viewerLimit: the most viewers. All of them may come again at once, from one address.
    package init(token: String?, viewerLimit: Int) {
        self.token = TokenGuard(token: token)
        starts = NetworkAllowance(limit: max(64, 2 * viewerLimit), recovery: .milliseconds(250))
    }

    /// Whether a viewer may come, or restart ICE.
    package mutating func mayStart(_ address: String, now: Instant) -> Bool {
        starts.take(from: address, now: now) == 1
    }

    /// Counts a viewer's request to speak. Returns nil if it is allowed, or else the seconds until one is.
    package mutating func waitToAsk(_ address: String, now: Instant) -> Int? {
        wishes.take(from: address, now: now) == 1 ? nil : wishes.wait(of: address, now: now)
    }

    /// Counts an offer or fragment that was read in vain.
    package mutating func noteUseless(_ address: String, now: Instant) { _ = useless.take(from: address, now: now) }

    /// Returns nil if an offer or fragment of the network is read now, or else the seconds until one is.
    package mutating func waitToBeRead(_ address: String, now: Instant) -> Int? {
        useless.isSpent(by: address, now: now) ? useless.wait(of: address, now: now) : nil
    }

    /// Counts `count` candidates. Returns how many of them may be tried, 0…count.
    package mutating func admit(_ count: Int, of address: String, now: Instant) -> Int {
        candidates.take(count, from: address, now: now)
    }

    /// Whether a refusal is reported: once a minute for each place.
    ///
    /// - Parameter place: the address of a viewer, in numbers, or that of a room.
    package mutating func isToldRefusal(of place: String, now: Instant) -> Bool {
        toldRefusals.take(from: place, now: now) == 1
    }
}
