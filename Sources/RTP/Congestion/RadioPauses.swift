/// Detects packets that a pause of a radio link has held up: nothing arrives for a while, and then the waiting packets
/// arrive together. They show the length of the pause, and nothing about the speed of the link.
struct RadioPauses: Sendable {
    /// The shortest pause, and the shortest time from one pause to the next, in milliseconds. A receiver that always
    /// reads many packets at once has no pauses.
    private static let (shortest, shortestInterval) = (60.0, 300.0)
    /// The fewest packets that arrive together, and within how many milliseconds.
    static let (fewestTogether, together) = (3, 5.0)

    private var lastArrivedAt = Double.infinity
    /// When the last pause ended, by the receiver's clock in milliseconds.
    private var endedAt = -Double.infinity

    /// - Parameters:
    ///   - arrival: in the order of sending.
    ///   - comesTogether: whether at least `fewestTogether` packets arrive together, it among them.
    ///   - fastest: the shortest delay of the last seconds, in milliseconds.
    /// - Returns: whether a pause has held it up.
    mutating func holdUp(_ arrival: Arrival, comesTogether: Bool, fastest: Double) -> Bool {
        defer { lastArrivedAt = arrival.arrivedAt }
        if abs(arrival.arrivedAt - endedAt) <= Self.together { return true }
        guard comesTogether, arrival.arrivedAt - lastArrivedAt >= Self.shortest,
            arrival.delay >= fastest + Self.shortest / 2, arrival.arrivedAt - endedAt >= Self.shortestInterval
        else { return false }
        endedAt = arrival.arrivedAt
        return true
    }
}
