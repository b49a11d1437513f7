import Time

/// The rate that a link carries if the peer does not report each packet: from the peer's own estimate (REMB), and from
/// the loss and round trips of its reports. Sans-IO: instants come from outside.
///
/// Reports come about once a second and say little. So there is no limit until they show congestion. Then the rate
/// falls to a share of the arrivals, as in draft-ietf-rmcat-gcc-02 §5.5, and rises again by a share in each second.
struct ReportedRate: Sendable {
    /// After a decrease, the share of the arriving rate that is sent. Meanwhile the queue empties.
    private static let decrease = 0.85
    /// Growth of the rate in a second while packets do not wait: anywhere, and near the rate at which they waited.
    private static let (growth, slowGrowth) = (0.1, 0.02)
    /// A round trip that is longer than the shortest by this much has waited in a queue.
    private static let longestQueue = Duration.milliseconds(150)
    /// A round trip that is longer by this much is no chance.
    private static let overlongQueue = Duration.milliseconds(500)
    /// Fewer packets do not show how fast they arrived.
    private static let fewestPackets: UInt32 = 10
    private static let mostPackets: UInt32 = 1 << 20
    /// Bytes that RTP, SRTP, UDP and IP add to a payload.
    private static let overhead = 50.0
    private static let shortestInterval = Duration.milliseconds(250)

    private struct Report {
        var reporter: UInt32
        var at: Instant
        var block: ReportBlock
        var packets: UInt64
        var bytes: UInt64
    }

    private var last: Report?
    private var lossLimit = LossLimit(growth: 1.04, patience: 6)
    /// The limit by long round trips, in bits a second; nil for none.
    private var delayLimit: Double?
    /// The sent rate when packets last waited.
    private var fullRate = Double.infinity
    /// The shortest round trip of the last minutes, in milliseconds.
    private var shortest = RecentMinimum(interval: 120_000)
    private var lastTrip: Duration?
    /// How many round trips in a row were long.
    private var longTrips = 0
    /// The highest recent rate of arrivals, negated, in bits a second. A peer that is sent little shows little.
    private var mostDelivered = RecentMinimum(interval: 5000)
    /// The peer's own estimate.
    private var cap: Double?

    /// Bits a second; nil while nothing shows a limit.
    var rate: Double? {
        let limits = [lossLimit.limit, delayLimit, cap].compactMap(\.self)
        return limits.min().map { max($0, BandwidthEstimator.floor) }
    }

    /// The peer has an estimate of its own, in bits a second (draft-alvestrand-rmcat-remb-03).
    mutating func receive(cap: Double) { self.cap = cap }

    /// Applies a report on a stream. Reports of several receivers, as in a multicast group, are not compared with each
    /// other.
    ///
    /// - Parameters:
    ///   - reporter: the peer's SSRC.
    ///   - packets: sent in the stream so far, and their payload's bytes.
    ///   - roundTrip: the one that the report shows; nil if it shows none.
    mutating func receive(
        _ block: ReportBlock,
        from reporter: UInt32,
        packets: UInt64,
        bytes: UInt64,
        roundTrip: Duration?,
        now: Instant
    ) {
        let report = Report(reporter: reporter, at: now, block: block, packets: packets, bytes: bytes)
        guard let last, last.reporter == reporter else { return self.last = report }
        guard now - last.at >= Self.shortestInterval else { return }
        self.last = report
        let expected = block.highestSequenceNumber &- last.block.highestSequenceNumber
        guard expected <= Self.mostPackets, packets > last.packets, bytes >= last.bytes else { return }
        let lost = UInt32(clamping: Int64(block.cumulativeLost) - Int64(last.block.cumulativeLost))
        let size = Double(bytes - last.bytes) / Double(packets - last.packets) + Self.overhead
        let elapsed = now - last.at
        let arrived = expected - min(lost, expected)
        let delivered = Double(arrived) * size * 8 / elapsed.seconds
        mostDelivered.add(-delivered, at: now.milliseconds)
        lossLimit.note(arrived: Int(arrived), lost: Int(min(lost, expected)), since: last.at)
        lossLimit.judge(-Self.decrease * (mostDelivered.value ?? 0), at: now)
        // Several reports may show the same round trip.
        if let roundTrip, block.lastSenderReport != last.block.lastSenderReport {
            apply(roundTrip: roundTrip, isTelling: expected >= Self.fewestPackets, over: elapsed, at: now)
        }
    }

    private mutating func apply(roundTrip trip: Duration, isTelling: Bool, over elapsed: Duration, at now: Instant) {
        shortest.add(trip.milliseconds, at: now.milliseconds)
        defer { lastTrip = trip }
        guard let shortest = shortest.value, trip > .milliseconds(shortest) + Self.longestQueue else {
            longTrips = 0
            delayLimit = delayLimit.map { limit in
                let isNear = 0.7 * fullRate...1.5 * fullRate ~= limit
                // After a silence, at most five seconds of growth count.
                return limit * (1 + (isNear ? Self.slowGrowth : Self.growth) * min(elapsed.seconds, 5))
            }
            return
        }
        longTrips += 1
        // A single round trip may be long by chance. A queue that shrinks needs no further decrease.
        let isSure = longTrips >= 2 || trip > .milliseconds(shortest) + Self.overlongQueue
        guard isTelling, isSure, let lastTrip, trip > lastTrip - .milliseconds(20) else { return }
        let delivered = -(mostDelivered.value ?? 0)
        fullRate = delivered
        delayLimit = max(BandwidthEstimator.floor, Self.decrease * min(delivered, delayLimit ?? delivered))
    }
}
