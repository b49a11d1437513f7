package import Time

/// Estimates from a peer's feedback what its link carries. Sans-IO: instants come from outside.
///
/// It learns from trains of packets, which arrive no faster than the link is; from the trend of the delay, which rises when
/// more is sent than the link carries; and from loss. Trend and decrease are those of Google's congestion control
/// (draft-ietf-rmcat-gcc-02). A screen sends in bursts and is silent in between: so every burst is a measurement, and silence
/// changes nothing.
package struct BandwidthEstimator: Sendable {
    /// Bits a second that any link is taken to carry.
    package static let floor = 50_000.0
    /// The share of what arrives that is sent after a decrease: meanwhile the queue empties.
    private static let decrease = 0.85
    /// The share of a link's measured speed that is used.
    private static let use = 0.95
    /// Bits a second by which the estimate grows in a second, while what is sent nearly fills it: anywhere, and near the speed
    /// that was measured in the last `speedLifetime`. Steps that do not depend on the rate bring flows that share a link to
    /// equal parts of it.
    private static let (growth, slowGrowth) = (60_000.0, 20_000.0)
    private static let speedLifetime = Duration.seconds(10)
    /// A train that shows so many times the estimate, as a probe does, is believed at once.
    private static let jump = 1.5
    /// What a train that shows another speed of a full link changes the estimate by, of the difference.
    private static let trust = 0.3
    /// The share of the estimate below which what is sent does not show whether the link carries it.
    static let applicationLimit = 0.65
    /// How long packets may wait on their way.
    private static let queueLimit = Duration.milliseconds(100)
    /// While a queue of so many milliseconds does not go away, the link carries no more than it does.
    private static let longestStanding = 25.0
    /// What may be on its way at first, in bytes, and at the least later.
    private static let (firstWindow, leastWindow) = (24_000, 6000)
    /// Bytes by which the window grows before the link was measured, at the most.
    private static let largestGrowth = 200_000
    /// A packet of which nothing is heard for so long does not hold up others. On a link that took the place of another, feedback
    /// may go the old way for seconds.
    private static let (patience, impatience) = (Duration.seconds(1), Duration.milliseconds(300))
    /// The round trip that is assumed where none is known.
    private static let usualRoundTrip = Duration.milliseconds(100)
    private static let probeInterval = Duration.seconds(2)
    /// Seconds that a probe takes at the least.
    private static let (probeTime, firstProbeTime) = (0.015, 0.02)
    private static let firstRate = 5_000_000.0
    /// Bits a second by which packets leave faster than a share of the estimate says. It is more to a small flow than to a large
    /// one, which brings them to equal parts too.
    private static let lead = 120_000.0
    /// Milliseconds by which no queue grows from one packet to the next: the receiver has set its clock.
    private static let largestJump = 3000.0
    /// A train is cut at this length, so that a long one is measured while it lasts.
    private static let longestTrain = Duration.milliseconds(60)
    /// A full link that carries less than this share of the estimate has become another one.
    private static let collapse = 0.5

    /// How long the first feedback is waited for.
    private let firstPatience: Duration
    /// Bits a second that nobody needs more than.
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
    /// The shortest delay of the last seconds, and of the last quarter of a minute: a queue that other flows keep filled is in the
    /// first. In milliseconds, with the unknown difference of the clocks.
    private var fastest = RecentMinimum(interval: 2000)
    private var base = RecentMinimum(interval: 15_000)
    private var rivalry = Rivalry()
    /// By how much the last packet that arrived was slower than the fastest of the last seconds, in milliseconds.
    private var queued = 0.0
    private var trains = PacketTrains()
    private var fullQueue = FullQueue()
    /// Packets before this one were sent before the link was known to have become much slower. Those that overflowed its queue
    /// say nothing of loss.
    private var collapseEnd: UInt64 = 0
    /// Whether nothing has arrived yet that was sent since then.
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
    /// Whether a train has told how fast the link is. Before, `estimate` is an assumption.
    package private(set) var isMeasured = false

    /// - Parameters:
    ///   - start: what is assumed before anything is known, in bits a second.
    ///   - ceiling: what nobody needs more than, in bits a second.
    package init(start: Double, ceiling: Double) { self.init(start: start, ceiling: ceiling, from: 0, Self.patience) }

    /// Begins anew on another link, of which the next packet is the first.
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

    /// - Parameter ceiling: what nobody needs more than from now on, in bits a second.
    package mutating func setCeiling(_ ceiling: Double) {
        self.ceiling = max(ceiling, Self.floor)
        rate = min(rate, self.ceiling)
    }

    // MARK: - What it tells

    /// What the link carries, in bits a second.
    package var estimate: Double {
        max(Self.floor, min(rate, lossLimit.limit ?? rate, ceiling))
    }

    /// The rate at which packets shall leave, in bits a second: a bit more than the estimate, so that a faster link shows; less
    /// while a queue is there.
    package var pace: Double {
        if standing > Self.longestStanding { return 0.8 * estimate }
        let factor = queued <= 25 ? 1.15 : queued <= 60 ? 1 : 0.8
        return factor * estimate + min(Self.lead, 0.2 * estimate)
    }

    /// When the next packet may leave, as so many bytes are on their way that the link and a short queue are full; nil for now.
    /// Feedback may make room earlier.
    package func roomAt(_ now: Instant) -> Instant? {
        guard packets.inFlight >= window, let firstSentAt, let lastSentAt else { return nil }
        // A peer may send no feedback after all, or be gone for a while.
        let end = hasFeedback ? lastSentAt + patience : firstSentAt + firstPatience
        return now < end ? end : nil
    }

    /// Of what was sent for a faster link, most may be lost in its queue: a packet after it shows that, as soon as it arrives.
    private var patience: Duration { hasCollapsed ? Self.impatience : Self.patience }

    /// Until the link is measured, what has arrived adds to it (the slow start of RFC 9002 §7.3.1): a busy peer may read packets in
    /// lumps, which measure nothing, and tell of them seldom.
    private var window: Int {
        guard let shortestTrip, isMeasured else {
            return Self.firstWindow + firstGrowth
        }
        return max(Self.leastWindow, Int(estimate / 8 * (shortestTrip + Self.queueLimit).seconds))
    }

    /// What to send first, with padding after a small picture: as fast as most links are, and for long enough to be measured.
    package var firstProbe: Probe { Probe(rate: min(estimate, Self.firstRate), time: Self.firstProbeTime) }

    /// What to send in order to learn whether the link carries more; nil if that is known, or cannot be asked now. The answer is
    /// given once.
    ///
    /// - Parameter wanted: what would be sent if it could, in bits a second.
    package mutating func takeProbe(for wanted: Double, at now: Instant) -> Probe? {
        guard hasFeedback, wanted > estimate, estimate < ceiling, queued < 25, trend.signal != .overuse,
            now - (probedAt ?? .start) >= Self.probeInterval, now - (decreasedAt ?? .start) >= Self.probeInterval / 2
        else { return nil }
        probedAt = now
        return Probe(rate: min(2 * estimate, ceiling * 1.25), time: Self.probeTime)
    }

    // MARK: - What it learns from

    /// A packet leaves.
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

    /// Bytes that have left, and of which nothing is known.
    var inFlight: Int { packets.inFlight }

    /// The number of that packet of those that arrived that was sent last.
    package var lastArrived: UInt64? { packets.newest?.number }

    /// After so long, a packet that nobody has told of is taken for lost, if none was sent after it that would show that
    /// (as the probe timeout of RFC 9002 §6.2): a round trip, and the time between two reports.
    package var probeTimeout: Duration { (shortestTrip ?? Self.usualRoundTrip) + .milliseconds(70) }

    /// The transport-wide number of the next packet.
    package var nextNumber: UInt16 { UInt16(truncatingIfNeeded: packets.end) }

    /// The peer tells what has arrived.
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
        if let newest { trips.add((now - newest.sentAt).milliseconds, at: Double(now.nanoseconds) / 1e6) }
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
            sentAt: Double(packet.sentAt.nanoseconds) / 1e6,
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
            // The queue that has built up is none of what comes now.
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
        // What the way takes without a queue does not show then.
        if !rivalry.isOn { base.add(arrival.delay, at: arrival.sentAt) }
        queued = arrival.delay - (fastest.value ?? arrival.delay)
        if let rate = delivery.rate { rivalry.note(speed: rate, at: arrival.sentAt) }
        if let measurement = trains.add(arrival, ofTrainFrom: packet.train) { apply(measurement, at: now) }
    }

    /// Believes a full queue that the link has become much slower.
    private mutating func followCollapse(at now: Instant) {
        guard isMeasured, !rivalry.isOn, let base = base.value else { return }
        if hasCollapsed {
            // The first packets that told of it may have left the link before.
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
        // How fast packets arrive among those of others says nothing about the link.
        if rivalry.isOn { return }
        rivalry.note(speed: min(measurement.sent, measurement.arrived), at: Double(now.nanoseconds) / 1e6)
        let isSaturated = measurement.isSaturated(base: base.value ?? 0)
        if isSaturated { speed = (measurement.arrived, now) }
        let found = isSaturated ? measurement.arrived * Self.use : min(measurement.sent, measurement.arrived)
        if isSaturated, isFirst {
            rate = min(found, rate)
        } else if isSaturated, queue > 15 {
            // A single train may have been held up by chance; much of a queue was not.
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
        let pause = (shortestTrip ?? Self.usualRoundTrip) + .milliseconds(50)
        guard queue > 25, now - (decreasedAt ?? .start) >= pause else { return }
        decreasedAt = now
        let delivered = delivery.rate ?? rate
        // What is sent in bursts with pauses between says little about the link.
        rate = delivered > Self.applicationLimit * rate ? min(rate, Self.decrease * delivered) : Self.decrease * rate
    }

    /// By how much the last packet was slower than the fastest of many seconds, in milliseconds; of the last seconds while others
    /// keep a queue.
    private var queue: Double {
        guard let lastDelay, let least = rivalry.isOn ? fastest.value : base.value else { return 0 }
        return lastDelay - least
    }

    /// The part of the queue that did not go away in the last seconds, in milliseconds: the flow's own, unless others keep one.
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
