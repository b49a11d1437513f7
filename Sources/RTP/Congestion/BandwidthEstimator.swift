package import Time

/// Estimates the rate that a link carries from the peer's feedback. Sans-IO: instants come from outside.
///
/// Its sources are trains of packets, which arrive no faster than the link carries; the trend of the delay, which rises
/// when more is sent than the link carries; and loss. Trend and decrease follow Google's congestion control
/// (draft-ietf-rmcat-gcc-02). A screen sends in bursts and is silent in between. So every burst is a measurement, and
/// silence changes nothing.
package struct BandwidthEstimator: Sendable {
    /// Bits a second that any link is taken to carry.
    package static let floor = 50_000.0
    /// After a decrease, the share of the arriving rate that is sent. Meanwhile the queue empties.
    private static let decrease = 0.85
    /// The share of a link's measured speed that is used.
    private static let use = 0.95
    /// Growth of the estimate per second, in bits a second, while the sent rate nearly fills it: anywhere, and near the
    /// speed that was measured in the last `speedLifetime`. Steps that do not depend on the rate bring flows that share
    /// a link to equal parts of it.
    private static let (growth, slowGrowth) = (60_000.0, 20_000.0)
    private static let speedLifetime = Duration.seconds(10)
    /// A train that shows at least this many times the estimate, as a probe does, is believed at once.
    private static let jump = 1.5
    /// The share of the difference by which a train on a full link changes the estimate.
    private static let trust = 0.3
    /// A sent rate below this share of the estimate does not show whether the link carries the estimate.
    static let applicationLimit = 0.65
    /// How long packets may wait on the path.
    private static let queueLimit = Duration.milliseconds(100)
    /// A queue that stays longer than this, in milliseconds, shows that the link carries no more.
    private static let longestStanding = 25.0
    /// Bytes that may be in flight: at first, and later at the least.
    private static let (firstWindow, leastWindow) = (24_000, 6000)
    /// The most bytes by which the window grows before the link is measured.
    private static let largestGrowth = 200_000
    /// A packet without feedback for this long does not hold up others. After a change of link, feedback may take the
    /// old path for seconds.
    private static let (patience, impatience) = (Duration.seconds(1), Duration.milliseconds(300))
    private static let probeInterval = Duration.seconds(2)
    /// Seconds that a probe takes at the least.
    private static let (probeTime, firstProbeTime) = (0.015, 0.02)
    private static let firstRate = 5_000_000.0
    /// Bits a second by which packets leave faster than a share of the estimate. It matters more to a small flow than
    /// to a large one, which also brings them to equal parts.
    private static let lead = 120_000.0
    /// A delay that grows by more than this many milliseconds from one packet to the next is no queue: the receiver has
    /// set its clock.
    private static let largestJump = 3000.0
    /// A train is cut at this length, so that a long one is measured while it lasts.
    private static let longestTrain = Duration.milliseconds(60)
    /// A full link that carries less than this share of the estimate has become another one.
    private static let collapse = 0.5

    /// How long the first feedback is waited for.
    private let firstPatience: Duration
    /// The highest useful rate, in bits a second.
    private var ceiling: Double
    private var packets: SentPackets
    /// By how many bytes the first window has grown.
    private var firstGrowth = 0
    private var trainStart: UInt64
    private var trainBeganAt: Instant?
    private var firstSentAt: Instant?
    private var lastSentAt: Instant?
    private var rate: Double
    private var clock = ReceiverClock()
    private var trend = DelayTrend()
    /// The shortest delay of the last seconds, and of the last quarter of a minute, in milliseconds plus the unknown
    /// difference of the clocks. A queue that other flows keep filled is part of the first.
    private var fastest = RecentMinimum(interval: 2000)
    private var base = RecentMinimum(interval: 15_000)
    private var rivalry = Rivalry()
    /// By how much the last packet that arrived was slower than the fastest of the last seconds, in milliseconds.
    private var queued = 0.0
    private var trains = PacketTrains()
    private var fullQueue = FullQueue()
    /// Packets before this one were sent before the link was known to be much slower. Those that overflowed its queue
    /// say nothing about loss.
    private var collapseEnd: UInt64 = 0
    /// Whether no packet since then has arrived yet.
    private var hasCollapsed = false
    private var pauses = RadioPauses()
    private var delivery = DeliveryRate()
    private var lossLimit = LossLimit()
    private var lastDelay: Double?
    private var decreasedAt: Instant?
    /// The link's speed as a train showed it last, in bits a second.
    private var speed: (value: Double, at: Instant)?
    private var grownAt: Instant?
    private var probedAt: Instant?
    /// The time from sending to feedback, in milliseconds.
    private var trips = RecentMinimum(interval: 2000)
    private var shortestTrip: Duration? { trips.value.map { .milliseconds($0) } }
    private var hasFeedback: Bool { trips.value != nil }
    /// Whether a train has shown the speed of the link. Before that, `estimate` is an assumption.
    package private(set) var isMeasured = false

    /// - Parameters:
    ///   - start: the assumed rate before any measurement, in bits a second.
    ///   - ceiling: the highest useful rate, in bits a second.
    package init(start: Double, ceiling: Double) { self.init(start: start, ceiling: ceiling, from: 0, Self.patience) }

    /// Begins anew on another link. The next packet is the first on it.
    package mutating func changeLink() {
        self = Self(start: ceiling, ceiling: ceiling, from: packetsSent, Self.impatience)
    }

    private init(start: Double, ceiling: Double, from number: UInt64, _ firstPatience: Duration) {
        packets = SentPackets(from: number)
        trainStart = number
        self.firstPatience = firstPatience
        self.ceiling = max(ceiling, Self.floor)
        rate = min(max(start, Self.floor), self.ceiling)
    }

    /// - Parameter ceiling: the highest useful rate from now on, in bits a second.
    package mutating func setCeiling(_ ceiling: Double) {
        self.ceiling = max(ceiling, Self.floor)
        rate = min(rate, self.ceiling)
    }

    // MARK: - Results

    /// The rate that the link carries, in bits a second.
    package var estimate: Double {
        max(Self.floor, min(rate, lossLimit.limit ?? rate, ceiling))
    }

    /// The rate at which packets leave, in bits a second. It is a bit above the estimate, so that a faster link shows,
    /// and lower while there is a queue.
    package var pace: Double {
        if standing > Self.longestStanding { return 0.8 * estimate }
        let factor = queued <= 25 ? 1.15 : queued <= 60 ? 1 : 0.8
        return factor * estimate + min(Self.lead, 0.2 * estimate)
    }

    /// When the next packet may leave if the packets in flight fill the link and a short queue; nil if it may leave
    /// now. Feedback may make room earlier.
    package func roomAt(_ now: Instant) -> Instant? {
        guard packets.inFlight >= window, let firstSentAt, let lastSentAt else { return nil }
        // A peer may send no feedback at all, or none for a while.
        let end = hasFeedback ? lastSentAt + patience : firstSentAt + firstPatience
        return now < end ? end : nil
    }

    /// Most packets sent for a faster link may be lost in the queue. A later packet shows that as soon as it arrives.
    private var patience: Duration { hasCollapsed ? Self.impatience : Self.patience }

    /// Until the link is measured, arrived packets widen the window (slow start, RFC 9002 §7.3.1). A busy peer may read
    /// packets in lumps, which measure nothing, and report them seldom.
    private var window: Int {
        guard let shortestTrip, isMeasured else {
            return Self.firstWindow + firstGrowth
        }
        return max(Self.leastWindow, Int(estimate / 8 * (shortestTrip + Self.queueLimit).seconds))
    }

    /// The first probe, with padding after a small picture: as fast as most links are, and long enough to be measured.
    package var firstProbe: Probe { Probe(rate: min(estimate, Self.firstRate), time: Self.firstProbeTime) }

    /// The probe that shows whether the link carries more; nil if that is known, or cannot be measured now. Each probe
    /// is given once.
    ///
    /// - Parameter wanted: the rate that would be sent without a limit, in bits a second.
    package mutating func takeProbe(for wanted: Double, at now: Instant) -> Probe? {
        guard hasFeedback, wanted > estimate, estimate < ceiling, queued < 25, trend.signal != .overuse,
            now - (probedAt ?? .start) >= Self.probeInterval, now - (decreasedAt ?? .start) >= Self.probeInterval / 2
        else { return nil }
        probedAt = now
        return Probe(rate: min(2 * estimate, ceiling * 1.25), time: Self.probeTime)
    }

    // MARK: - Input

    /// Records a packet that leaves.
    ///
    /// - Parameters:
    ///   - size: bytes of the datagram.
    ///   - followsAtOnce: whether the packet had to wait for the one before it, at the same rate.
    package mutating func noteSent(size: Int, followsAtOnce: Bool, at now: Instant) {
        if !followsAtOnce || trainBeganAt.map({ now - $0 > Self.longestTrain }) ?? true {
            trainStart = packets.end
            trainBeganAt = now
        }
        packets.add(size: size, train: trainStart, at: now)
        firstSentAt = firstSentAt ?? now
        lastSentAt = now
    }

    package var packetsSent: UInt64 { packets.end }

    /// Bytes that have left and are not reported on yet.
    var inFlight: Int { packets.inFlight }

    /// The number of the last sent packet among those that arrived.
    package var lastArrived: UInt64? { packets.newest?.number }

    /// After this time without feedback, a packet is taken for lost if no later packet would show the loss (probe
    /// timeout, RFC 9002 §6.2): a round trip, and the time between two reports.
    package var probeTimeout: Duration { (shortestTrip ?? .usualRoundTrip) + .milliseconds(70) }

    /// The transport-wide number of the next packet.
    package var nextNumber: UInt16 { UInt16(truncatingIfNeeded: packets.end) }

    /// Applies the peer's report of arrived packets.
    package mutating func receive(_ feedback: TransportFeedback, now: Instant) {
        var newest: SentPackets.Packet?
        for (index, arrival) in feedback.arrivals.enumerated() {
            guard let packet = packets[arrival.number], packets.noteArrival(of: packet) else { continue }
            newest = packet
            if packet.number >= collapseEnd {
                if packet.fate == .lost { lossLimit.takeBackLoss() }
                lossLimit.noteArrival()
            }
            if !isMeasured, trend.signal != .overuse {
                firstGrowth = min(firstGrowth + packet.size, Self.largestGrowth)
            }
            let third = index + RadioPauses.fewestTogether - 1
            let comesTogether =
                third < feedback.arrivals.count
                && Double(feedback.arrivals[third].time &- arrival.time) / 4 <= RadioPauses.together
            learn(from: packet, arrivedAt: clock.milliseconds(at: arrival.time), comesTogether, now: now)
        }
        let collapseEnd = collapseEnd
        packets.giveUpOvertaken { if $0.number >= collapseEnd { lossLimit.noteLoss() } }
        if let newest { trips.add((now - newest.sentAt).milliseconds, at: now.milliseconds) }
        followCollapse(at: now)
        if !isMeasured, let measurement = trains.measurement { apply(measurement, at: now) }
        lossLimit.judge(delivery.rate ?? rate, of: estimate, at: now)
        let mustGiveWay = rivalry.share.map { rate > $0 } ?? true
        if hasCollapsed {
            grownAt = nil
        } else if trend.signal == .overuse, mustGiveWay {
            backOff(at: now)
        } else {
            grow(at: now)
        }
        rate = min(max(rate, Self.floor), ceiling)
    }

    /// - Parameter comesTogether: whether the next packets arrive at about the same time.
    private mutating func learn(
        from packet: SentPackets.Packet,
        arrivedAt: Double,
        _ comesTogether: Bool,
        now: Instant
    ) {
        let arrival = Arrival(
            sentAt: packet.sentAt.milliseconds,
            arrivedAt: arrivedAt,
            size: packet.size
        )
        if let lastDelay, abs(arrival.delay - lastDelay) > Self.largestJump {
            (trend, trains, delivery, fullQueue) = (DelayTrend(), PacketTrains(), DeliveryRate(), FullQueue())
            (fastest, base) = (RecentMinimum(interval: 2000), RecentMinimum(interval: 15_000))
            (rivalry, pauses) = (Rivalry(), RadioPauses())
        }
        delivery.add(arrival)
        if pauses.holdUp(arrival, comesTogether: comesTogether, fastest: fastest.value ?? .infinity) { return }
        if hasCollapsed, packet.number >= collapseEnd {
            // The old queue says nothing about the packets that come now.
            (hasCollapsed, trend, delivery) = (false, DelayTrend(), DeliveryRate())
        }
        lastDelay = arrival.delay
        trend.add(arrival)
        fullQueue.add(arrival)
        fastest.add(arrival.delay, at: arrival.sentAt)
        let standing = (fastest.value ?? 0) - (base.value ?? arrival.delay)
        if rivalry.noteQueue(standing, at: arrival.sentAt) {
            (base, rivalry) = (RecentMinimum(interval: 15_000), Rivalry())
        }
        // Beside other flows, the delay of an empty path does not show.
        if !rivalry.isOn { base.add(arrival.delay, at: arrival.sentAt) }
        queued = arrival.delay - (fastest.value ?? arrival.delay)
        if let rate = delivery.rate { rivalry.note(speed: rate, at: arrival.sentAt) }
        if let measurement = trains.add(arrival, ofTrainFrom: packet.train) { apply(measurement, at: now) }
    }

    /// Follows a full queue that shows a much slower link.
    private mutating func followCollapse(at now: Instant) {
        guard isMeasured, !rivalry.isOn, let base = base.value else { return }
        if hasCollapsed {
            // The first packets in the queue may have left the link before.
            guard let found = fullQueue.speed(over: FullQueue.longTime, base: base), found < rate else { return }
            rate = found * Self.use
            speed = (found, now)
        } else if let found = fullQueue.speed(over: FullQueue.shortestTime, base: base), found < Self.collapse * rate {
            rate = found * Self.use
            speed = (found, now)
            (decreasedAt, collapseEnd, hasCollapsed) = (now, packets.end, true)
            fullQueue.removeAll()
            trains.forget(before: packets.end)
            trainBeganAt = nil
        }
    }

    private mutating func apply(_ measurement: PacketTrains.Measurement, at now: Instant) {
        let isFirst = !isMeasured
        isMeasured = true
        // Beside other flows, the speed of arrivals says nothing about the link.
        if rivalry.isOn { return }
        rivalry.note(speed: min(measurement.sent, measurement.arrived), at: now.milliseconds)
        let isSaturated = measurement.isSaturated(base: base.value ?? 0)
        if isSaturated { speed = (measurement.arrived, now) }
        let found = isSaturated ? measurement.arrived * Self.use : min(measurement.sent, measurement.arrived)
        if isSaturated, isFirst {
            rate = min(found, rate)
        } else if isSaturated, queue > 15 {
            // A single train may be slow by chance. A long queue is not chance.
            let isDrop = found < Self.decrease * rate && queued > 30
            rate += (isDrop ? 1 : Self.trust) * (found - rate)
            if isDrop { decreasedAt = now }
        } else if found > Self.jump * rate {
            // The next probe may show more.
            probedAt = nil
            rate = min(found, 2 * rate)
        }
    }

    private mutating func backOff(at now: Instant) {
        let pause = (shortestTrip ?? .usualRoundTrip) + .milliseconds(50)
        guard queue > 25, now - (decreasedAt ?? .start) >= pause else { return }
        decreasedAt = now
        let delivered = delivery.rate ?? rate
        // Bursts with pauses in between say little about the link.
        rate = delivered > Self.applicationLimit * rate ? min(rate, Self.decrease * delivered) : Self.decrease * rate
    }

    /// The delay of the last packet over the fastest of many seconds, in milliseconds. Beside other flows, over the
    /// fastest of the last seconds.
    private var queue: Double {
        guard let lastDelay, let least = rivalry.isOn ? fastest.value : base.value else { return 0 }
        return lastDelay - least
    }

    /// The part of the queue that did not go away in the last seconds, in milliseconds. It is the flow's own, unless
    /// others keep one.
    private var standing: Double {
        guard !rivalry.isOn, let fastest = fastest.value, let base = base.value else { return 0 }
        return fastest - base
    }

    private mutating func grow(at now: Instant) {
        defer { grownAt = now }
        guard let grownAt, let delivered = delivery.rate, delivered > Self.applicationLimit * rate,
            trend.signal == .normal || rivalry.isOn, standing <= Self.longestStanding
        else { return }
        if let share = rivalry.share {
            let growth = rate < share ? Self.growth + 0.1 * rate : 0.01 * rate
            rate += growth * min((now - grownAt).seconds, 0.5)
            return
        }
        let isNear = speed.map { now - $0.at < Self.speedLifetime && rate > 0.9 * $0.value } ?? false
        let growth = isNear ? min(Self.slowGrowth, 0.02 * rate) : min(Self.growth + 0.02 * rate, 0.08 * rate)
        rate = min(rate + growth * min((now - grownAt).seconds, 0.5), max(rate, 1.5 * delivered + 10_000))
    }
}

extension Duration {
    /// The assumed round trip while none is known.
    static let usualRoundTrip = Duration.milliseconds(100)
}
