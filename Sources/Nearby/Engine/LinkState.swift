package import Discovery

/// How far the link of a pair is.
package enum LinkState: Equatable, Sendable {
    case notConnected
    case connecting
    /// - endpoint: of the other side.
    /// - isAway: whether nothing was heard for a while.
    case connected(Endpoint, isAway: Bool)
}
