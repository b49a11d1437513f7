/// A packet that has arrived, with times of two clocks. Both run at the same speed; their zeros are unrelated.
struct Arrival: Sendable {
    /// When it was sent, in milliseconds of the sender's clock.
    var sentAt: Double
    /// When it arrived, in milliseconds of the receiver's clock.
    var arrivedAt: Double
    /// Bytes.
    var size: Int

    /// The time on the way, plus the unknown difference of the clocks.
    var delay: Double { arrivedAt - sentAt }
}

/// Groups of packets that were sent close to each other, or that something held up and that arrived close to each
/// other. The delay is compared between groups, not between packets: packets of one burst queue behind each other.
struct ArrivalGroups: Sendable {
    /// The step from one group to the next.
    struct Step {
        /// Milliseconds between the last packets of both, as sent and as arrived.
        var sent: Double
        var arrived: Double
        /// When the last packet of the later one arrived.
        var arrivedAt: Double
    }

    private struct Group {
        var first: Arrival
        var last: Arrival
    }

    /// Packets that were sent within this time are one group, in milliseconds.
    private static let sendingTime = 5.0
    /// Packets that were held up together arrive this close to each other, and all of them within `longestBurst`.
    private static let burstGap = 5.0
    private static let longestBurst = 100.0

    private var current: Group?
    private var previous: Arrival?

    /// Adds a packet, in the order of sending. Returns the step to the group that it completes.
    mutating func add(_ arrival: Arrival) -> Step? {
        guard let group = current else {
            current = Group(first: arrival, last: arrival)
            return nil
        }
        // This packet was overtaken, so it says nothing about the queue.
        if arrival.sentAt < group.last.sentAt { return nil }
        if isPart(arrival, of: group) {
            current!.last = arrival
            current!.last.arrivedAt = max(group.last.arrivedAt, arrival.arrivedAt)
            return nil
        }
        defer {
            previous = group.last
            current = Group(first: arrival, last: arrival)
        }
        return previous.map { before in
            Step(
                sent: group.last.sentAt - before.sentAt,
                arrived: group.last.arrivedAt - before.arrivedAt,
                arrivedAt: group.last.arrivedAt
            )
        }
    }

    private func isPart(_ arrival: Arrival, of group: Group) -> Bool {
        if arrival.sentAt - group.first.sentAt <= Self.sendingTime { return true }
        let gap = arrival.arrivedAt - group.last.arrivedAt
        return gap < arrival.sentAt - group.last.sentAt && gap <= Self.burstGap
            && arrival.arrivedAt - group.first.arrivedAt < Self.longestBurst
    }
}
