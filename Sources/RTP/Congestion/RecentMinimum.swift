/// The least value of the last one to two intervals.
struct RecentMinimum: Sendable {
    /// In milliseconds.
    let interval: Double
    private var before = Double.infinity
    private var now = Double.infinity
    private var beganAt: Double?

    init(interval: Double) { self.interval = interval }

    /// Nil before the first value.
    var value: Double? { beganAt == nil ? nil : min(before, now) }

    /// - Parameter time: in milliseconds; no earlier than that of the value before.
    mutating func add(_ value: Double, at time: Double) {
        if time - (beganAt ?? -.infinity) > interval {
            (before, now) = (now, .infinity)
            beganAt = time
        }
        now = min(now, value)
    }
}
