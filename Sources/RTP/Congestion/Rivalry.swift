/// Tells whether other flows keep the queue of the link filled, as a bulk transfer by TCP does until packets are lost: whoever
/// gives way to a queue that does not go away, gives way for ever (Arun and Balakrishnan, "Copa: Practical Delay-Based
/// Congestion Control for the Internet", NSDI 2018, §2.2).
struct Rivalry: Sendable {
    /// A queue that is always longer than this, in milliseconds, is kept by others, if it stays for so long though this flow gives
    /// way…
    private static let (longestOwn, patience) = (30.0, 3000.0)
    /// …and one that has been shorter than this for a while is not: a transfer that has lost packets leaves it empty for a moment.
    private static let (shortest, pause) = (15.0, 5000.0)

    /// What is as long all the while is no queue: the way itself has become longer. In milliseconds, how much it varies at the most,
    /// and for how long.
    private static let (largestVariation, steadyTime) = (12.0, 20_000.0)

    /// Since when the queue has been long, by the sender's clock in milliseconds.
    private var since: Double?
    /// Since when it has been short.
    private var shortSince: Double?
    private(set) var isOn = false
    /// The bounds of the queue, and since when it has been within them.
    private var steady: (bounds: ClosedRange<Double>, since: Double)?
    /// The highest speeds that were shown in the last ten minutes or twenty before, negated, in bits a second.
    private var speeds = RecentMinimum(interval: 600_000)

    /// Half of what the link was seen to carry of the flow alone, in bits a second: what it takes beside others. Nil where there
    /// are none.
    var share: Double? { isOn ? speeds.value.map { -$0 / 2 } : nil }

    /// So much has arrived: an assumption is none.
    ///
    /// - Parameter speed: in bits a second.
    mutating func note(speed: Double, at now: Double) { if !isOn { speeds.add(-speed, at: now) } }

    /// - Parameters:
    ///   - queue: how long each packet of the last seconds has waited at the least, in milliseconds.
    ///   - now: the sender's clock in milliseconds.
    /// - Returns: whether there is no queue after all, as the way has become longer. Begin anew then.
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
