package import Time

/// Guards everything that strangers can reach: it checks the token, limits networks, and limits reports of refusals.
/// Sans-IO.
package struct Gate: Sendable {
    package var token: TokenGuard
    package var limits: NetworkLimits
    private var toldRefusals = NetworkAllowance.ofToldRefusals

    package init(token: String?, viewerLimit: Int) {
        self.token = TokenGuard(token: token)
        limits = NetworkLimits(viewerLimit: viewerLimit)
    }

    /// Whether a refusal is reported: once a minute for each place.
    ///
    /// - Parameter place: the address of a viewer, in numbers, or that of a room.
    package mutating func isToldRefusal(of place: String, now: Instant) -> Bool {
        toldRefusals.take(from: place, now: now) == 1
    }
}
