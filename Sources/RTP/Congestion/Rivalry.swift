/// Detects other flows that keep the link's queue filled, as a TCP transfer does until packets are lost. A flow that
/// gives way to a queue that stays would give way for ever (Arun and Balakrishnan, "Copa: Practical Delay-Based
/// Congestion Control for the Internet", NSDI 2018, §2.2).
struct Rivalry: Sendable {
    /// Others keep the queue if it stays longer than `longestOwn` for `patience`, although this flow gives way. In
    /// milliseconds.
    private static let (longestOwn, patience) = (30.0, 3000.0)
    /// They have stopped once the queue has stayed shorter than `shortest` for `pause`. A transfer that has lost packets
    /// leaves the queue empty for a moment.
    private static let (shortest, pause) = (15.0, 5000.0)

    /// A delay that stays the same all the while is no queue: the path itself has become longer. The largest variation
    /// and the time, in milliseconds.
    private static let (largestVariation, steadyTime) = (12.0, 20_000.0)

    /// Since when the queue has been long, by the sender's clock in milliseconds.
    private var since: Double?
    private var shortSince: Double?
    private(set) var isOn = false
    /// The bounds of the queue, and since when it has been within them.
    private var steady: (bounds: ClosedRange<Double>, since: Double)?
    /// The highest speeds of the last ten to twenty minutes, negated, in bits a second.
    private var speeds = RecentMinimum(interval: 600_000)

    /// This flow's speed beside others, in bits a second: half of what the link carried for the flow alone. Nil without
    /// others.
    var share: Double? { isOn ? speeds.value.map { -$0 / 2 } : nil }

    /// Records a measured rate of arrivals, no assumption.
    ///
    /// - Parameter speed: in bits a second.
    mutating func note(speed: Double, at now: Double) { if !isOn { speeds.add(-speed, at: now) } }

    /// - Parameters:
    ///   - queue: the shortest wait of the packets of the last seconds, in milliseconds.
    ///   - now: the sender's clock in milliseconds.
    /// - Returns: whether there is no queue after all, as the path has become longer. Begin anew then.
    mutating func noteQueue(_ queue: Double, at now: Double) -> Bool {
        if queue > Self.longestOwn {
            since = since ?? now
            shortSince = nil
        } else if !isOn {
            since = nil
        } else if queue < Self.shortest {
            let began = shortSince ?? now
            shortSince = began
            if now - began > Self.pause { since = nil }
        }
        isOn = since.map { now - $0 > Self.patience } ?? false
        if !isOn {
            steady = nil
            return false
        }
        let before = steady ?? (queue...queue, now)
        let bounds = min(before.bounds.lowerBound, queue)...max(before.bounds.upperBound, queue)
        let varies = bounds.upperBound - bounds.lowerBound > Self.largestVariation
        steady = varies ? (queue...queue, now) : (bounds, before.since)
        return !varies && now - before.since > Self.steadyTime
    }
}
