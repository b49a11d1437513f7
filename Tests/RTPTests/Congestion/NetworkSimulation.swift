import TestSupport
import Time

@testable import RTP

/// Flows that share one link, in virtual time of a millisecond a step: each has an estimator, a pace, and a source that
/// follows the estimate.
struct NetworkSimulation {
    /// What a source would send.
    enum Source {
        /// Pictures at this rate, of as many bits together as the estimate allows, between limits in bits a second: an encoder
        /// cannot send less than with its coarsest quantizer.
        case video(framesPerSecond: Int, least: Double = 0, most: Double)
        /// Pictures of this many bytes at once, so far apart.
        case pages(bytes: Int, every: Duration)
    }

    /// What a wrong estimator would do, so that a test can tell whether it would be found.
    enum Mistake: CaseIterable {
        case noDecrease, noProbing
        /// Arrival times are taken for milliseconds, or for those of the packets before.
        case wrongUnit, wrongPacket
    }

    /// What happened to a flow in a second.
    struct Second {
        var estimate = 0.0
        var queueDelays: [Duration] = []
        var bytesArrived = 0
    }

    struct Flow {
        var estimator: BandwidthEstimator
        var source: Source
        var receiver = ModelReceiver(clockOffset: 0xFFFF_FF00)
        /// Sizes of the packets that wait to be sent, and padding that does so after them.
        var waiting: [Int] = []
        var probe: BandwidthEstimator.Probe?
        var sendAt = Instant.start
        var hasWaiting = false
        var frameAt: Instant
        /// How much longer than the link's delay the flow's own way is, there and back.
        var extraDelay = Duration.zero
        var number: UInt64 = 0
        var seconds: [Second] = []
        /// The highest estimate so far.
        var highest = 0.0
    }

    private struct Event {
        enum Kind {
            case arrival(flow: Int, number: UInt64, size: Int, sentAt: Instant)
            case report(flow: Int, TransportFeedback)
        }

        var at: Instant
        var kind: Kind
    }

    /// A frame is left out if those before it still need so long to leave.
    private static let backlogLimit = Duration.milliseconds(100)
    private static let packetSize = 1200

    var link: VirtualLink
    var flows: [Flow]
    /// From the receivers to the senders.
    var feedbackDelay = Duration.milliseconds(20)
    private(set) var now = Instant.start + .seconds(1)
    private var events: [Event] = []
    /// Transfers beside the flows.
    var transfers: [ModelTCP] = []
    var mistake: Mistake?

    init(
        _ conditions: VirtualLink.Conditions,
        _ sources: [Source],
        start: Double = 1e6,
        seed: UInt64 = 1
    ) {
        link = VirtualLink(conditions, seed: seed)
        flows = []
        for (index, source) in sources.enumerated() {
            let frameAt = now + .milliseconds(7 * index)
            flows.append(
                Flow(estimator: BandwidthEstimator(start: start, ceiling: 12.5e6), source: source, frameAt: frameAt)
            )
        }
    }

    mutating func run(for duration: Duration) {
        let end = now + duration
        while now < end {
            now += .milliseconds(1)
            deliver()
            for index in flows.indices {
                makeFrames(of: index)
                send(from: index)
                if now.nanoseconds % 50_000_000 == 0, let report = flows[index].receiver.takeReport() {
                    let at = now + feedbackDelay + flows[index].extraDelay
                    events.append(Event(at: at, kind: .report(flow: index, report)))
                }
            }
            for index in transfers.indices { transfers[index].step(at: now, over: &link) }
            if now.nanoseconds % 1_000_000_000 == 0 {
                for index in flows.indices {
                    var second = Second()
                    second.estimate = flows[index].estimator.estimate
                    flows[index].seconds.append(second)
                }
            }
        }
    }

    private mutating func deliver() {
        let due = events.filter { $0.at <= now }
        if due.isEmpty { return }
        events.removeAll { $0.at <= now }
        for event in due.sorted(by: { $0.at < $1.at }) {
            switch event.kind {
            case .arrival(let flow, let number, let size, let sentAt):
                flows[flow].receiver.receive(number, at: event.at)
                guard !flows[flow].seconds.isEmpty else { continue }
                let last = flows[flow].seconds.count - 1
                flows[flow].seconds[last].bytesArrived += size
                let delay = link.conditions.delay + flows[flow].extraDelay
                flows[flow].seconds[last].queueDelays.append(event.at - sentAt - delay)
            case .report(let flow, var report):
                for index in report.arrivals.indices {
                    if mistake == .wrongUnit { report.arrivals[index].time *= 4 }
                    if mistake == .wrongPacket { report.arrivals[index].number &-= 3 }
                }
                flows[flow].estimator.receive(report, now: now)
                flows[flow].highest = max(flows[flow].highest, flows[flow].estimator.estimate)
            }
        }
    }

    private mutating func makeFrames(of index: Int) {
        guard now >= flows[index].frameAt else { return }
        let bytes: Int
        switch flows[index].source {
        case .video(let framesPerSecond, let least, let most):
            flows[index].frameAt += .seconds(1) / framesPerSecond
            let estimate = mistake == .noDecrease ? flows[index].highest : flows[index].estimator.estimate
            bytes = Int(max(least, min(estimate, most)) / 8 / Double(framesPerSecond))
            let backlog = Double(flows[index].waiting.reduce(0, +)) * 8 / estimate
            if backlog > Self.backlogLimit.seconds { return }
        case .pages(let size, let interval):
            flows[index].frameAt += interval
            bytes = size
        }
        var left = bytes
        while left > 0 {
            flows[index].waiting.append(min(left, Self.packetSize))
            left -= Self.packetSize
        }
    }

    private mutating func send(from index: Int) {
        while now >= flows[index].sendAt, flows[index].estimator.roomAt(now) == nil {
            let isPadding = flows[index].waiting.isEmpty
            if isPadding, flows[index].probe == nil { return }
            let size = isPadding ? 250 : flows[index].waiting.removeFirst()
            let pace = mistake == .noDecrease ? flows[index].highest * 1.2 : flows[index].estimator.pace
            let rate = flows[index].probe?.rate ?? max(pace, 1)
            flows[index].estimator.noteSent(size: size, followsAtOnce: flows[index].hasWaiting, at: now)
            let before = flows[index].probe
            let rest = before?.after(packetOf: size)
            let first =
                before == nil && mistake != .noProbing
                ? flows[index].estimator.takeProbe(for: 12_500_000, at: now) : nil
            flows[index].hasWaiting =
                (!flows[index].waiting.isEmpty || rest != nil) && first == nil && (rest == nil) == (before == nil)
            flows[index].probe = rest ?? first
            for arrival in link.send(size, at: now) {
                let kind = Event.Kind.arrival(flow: index, number: flows[index].number, size: size, sentAt: now)
                events.append(Event(at: arrival + flows[index].extraDelay, kind: kind))
            }
            flows[index].number += 1
            flows[index].sendAt = max(flows[index].sendAt, now - .milliseconds(1)) + .seconds(Double(size) * 8 / rate)
        }
    }
}
