package import Time

/// Stands before everything that strangers can reach: the token, what their networks may have, and how often somebody is told that they
/// were turned away. Sans-IO.
package struct Gate: Sendable {
    package var token: TokenGuard
    package var limits: NetworkLimits
    private var toldRefusals = NetworkAllowance.ofToldRefusals

    /// - Parameters:
    ///   - token: nil lets everybody in.
    ///   - viewerLimit: the most viewers.
    package init(token: String?, viewerLimit: Int) {
        self.token = TokenGuard(token: token)
        limits = NetworkLimits(viewerLimit: viewerLimit)
    }

    /// Whether it is told that somebody was turned away: once a minute for each place.
    ///
    /// - Parameter place: the address of a viewer, in numbers, or that of a room.
    package mutating func isToldRefusal(of place: String, now: Instant) -> Bool {
        toldRefusals.take(from: place, now: now) == 1
    }
}
