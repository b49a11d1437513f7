import Media
import TestSupport
import Time

@testable import RTP

/// A bundle of a stream of pictures, and one of sound if that is wanted, a link, and a receiver that tells of arrivals and asks for what it has lost, in virtual time of a
/// millisecond a step.
struct StackSimulation {
    /// How the receiver tells of arrivals.
    enum Telling {
        /// Of each packet, by transport-wide feedback.
        case packets
        /// By a receiver report each second, or each five seconds.
        case reports, rareReports
    }

    private enum Event {
        case packet([UInt8], transport: UInt64)
        case sound(heardAt: Instant)
        case senderReport(NTPTime)
        case feedback(RTCPPacket)
    }

    private static let step = Duration.milliseconds(1)
    private static let transportID: UInt8 = 5
    static let target = 2_500_000

    var link: VirtualLink
    var bundle: StreamBundle
    private let history: PacketHistory
    private let sound = PacketHistory(soundOf: 1000, capacity: 100)
    private var receiver = ModelReceiver()
    private(set) var now = Instant.seconds(100)
    private var events: [(at: Instant, event: Event)] = []
    private let roundTrip: Duration
    // What was sent.
    private var frames: [(number: UInt16, count: Int, madeAt: Instant)] = []
    private(set) var bytesSent = 0
    private(set) var paddingSent = 0
    private(set) var packetsRepeated = 0
    private(set) var transportNumbers: [UInt16] = []
    private var packetsSent: UInt64 = 0
    // What arrived.
    /// Packets of the stream by their numbers.
    private var arrivals: [UInt16: Instant] = [:]
    /// Those that are lost, and when they were asked for.
    private var missing: [UInt16: Instant?] = [:]
    private var lostCount = 0
    /// How long each packet of sound took that arrived, in order.
    private(set) var soundDelays: [Duration] = []
    /// When those packets were heard that have not left.
    private var unsentSound: [Instant] = []
    private var newest: UInt16?
    private var feedbackAt = Instant.start
    private var answers: (report: NTPTime, at: Instant)?
    private let telling: Telling
    private let clock: ClockReading

    init(
        _ conditions: VirtualLink.Conditions,
        telling: Telling = .packets,
        hasSound: Bool = false,
        seed: UInt64 = 1
    ) {
        self.telling = telling
        link = VirtualLink(conditions, seed: seed)
        roundTrip = conditions.delay * 2
        var random = SplitMix64(seed: seed)
        history = PacketHistory(codec: .vp8, maximumPayloadSize: 1100, capacity: 2000, using: &random)
        let parameters = OutgoingStream.Parameters(
            payloadType: 96,
            retransmissionPayloadType: 97,
            extensions: HeaderExtensions(transportNumber: telling == .packets ? Self.transportID : nil),
            mid: "0"
        )
        clock = ClockReading(monotonic: now, wall: 1_700_000_000_000_000_000)
        bundle = StreamBundle(
            [(parameters, history)]
                + (hasSound ? [(.init(payloadType: 111, retransmissionPayloadType: nil, mid: "1"), sound)] : []),
            pace: .video(targetBitrate: UInt64(Self.target)),
            judgesReach: false,
            clock: clock,
            using: &random
        )
    }

    /// Makes a frame now.
    mutating func append(bytes: Int, isKeyframe: Bool = false) {
        let before = history.end
        history.append(
            frame: [UInt8](repeating: 7, count: bytes),
            isKeyframe: isKeyframe,
            dimensions: (1280, 720),
            capturedAt: now,
            now: now
        )
        let first = sequenceNumber ?? 0
        frames.append((first, Int(history.end - before), now))
    }

    /// Hears 20 ms.
    mutating func hear(bytes: Int) {
        sound.append(sound: [UInt8](repeating: 7, count: bytes), capturedAt: now, now: now)
        unsentSound.append(now)
    }

    /// The sequence number of the next packet; nil before the first.
    private var sequenceNumber: UInt16? {
        frames.last.map { $0.number &+ UInt16($0.count) }
    }

    mutating func run(
        for duration: Duration,
        each interval: Duration? = nil,
        _ act: (inout StackSimulation) -> Void = { _ in }
    ) {
        let end = now + duration
        var actAt = now
        while now < end {
            if let interval, now >= actAt {
                act(&self)
                actAt += interval
            }
            now += Self.step
            deliver()
            send()
            report()
        }
    }

    private mutating func send() {
        var bytes: [UInt8] = []
        while bundle.writeNext(at: now, to: &bytes) {
            let number = extensionElements(of: bytes)[Self.transportID].map { UInt16($0[0]) << 8 | UInt16($0[1]) }
            if bytes[1] & 0x7F == 111 {
                bytesSent += bytes.count
                let heardAt = unsentSound.removeFirst()
                for at in link.send(bytes.count, at: now) { events.append((at, .sound(heardAt: heardAt))) }
                bytes.removeAll()
                continue
            }
            if let number { transportNumbers.append(number) }
            packetsSent += 1
            bytesSent += bytes.count
            if packetsSent == 1 { frames[0].number = UInt16(bytes[2]) << 8 | UInt16(bytes[3]) }
            if bytes[0] & 0x20 != 0 {
                paddingSent += bytes.count
            } else if bytes[1] & 0x7F == 97 {
                packetsRepeated += 1
            }
            for at in link.send(bytes.count, at: now) {
                events.append((at, .packet(bytes, transport: packetsSent - 1)))
            }
            bytes.removeAll()
        }
        guard telling != .packets, bundle.writeReport(at: now, to: &bytes) else { return }
        let ntpTime = clock.ntpTime(at: now)
        for at in link.send(bytes.count, at: now) { events.append((at, .senderReport(ntpTime))) }
    }

    private mutating func deliver() {
        let due = events.filter { $0.at <= now }.sorted { $0.at < $1.at }
        events.removeAll { $0.at <= now }
        for (at, event) in due {
            switch event {
            case .feedback(let packet): bundle.receive(packet, now: now)
            case .sound(let heardAt): soundDelays.append(at - heardAt)
            case .senderReport(let ntpTime): answers = (ntpTime, at)
            case .packet(let bytes, let transport):
                receiver.receive(transport, at: at)
                if bytes[0] & 0x20 == 0 { note(bytes, at: at) }
            }
        }
    }

    private mutating func note(_ bytes: [UInt8], at: Instant) {
        guard let packet = try? RTPPacket(parsing: bytes) else { return }
        let isRepeated = packet.header.payloadType == 97
        let number =
            isRepeated ? UInt16(packet.payload[0]) << 8 | UInt16(packet.payload[1]) : packet.header.sequenceNumber
        if arrivals[number] != nil { return }
        arrivals[number] = at
        missing[number] = nil
        guard let newest else {
            self.newest = number
            return
        }
        let distance = number &- newest
        guard distance < 0x8000, distance > 0 else { return }
        for lost in 1..<max(distance, 1) { missing[newest &+ lost] = .some(nil) }
        lostCount += Int(distance) - 1
        self.newest = number
    }

    private mutating func report() {
        // A receiver gives up what nobody sends again.
        let (recently, longAgo) = (now - .milliseconds(99), now - max(roundTrip, .milliseconds(100)))
        for (number, askedAt) in missing where askedAt.map({ $0 > recently }) ?? false {
            if let newest, newest &- number < 0x8000, newest &- number > 1000 { missing[number] = nil }
        }
        let lost = missing.filter { _, askedAt in askedAt.map { $0 <= longAgo } ?? true }.keys.sorted()
        if !lost.isEmpty {
            for number in lost { missing[number] = now }
            let nack = GenericNACK(sender: 1, media: bundle.streams[0].ssrc, lost: lost)
            events.append((now + roundTrip / 2, .feedback(.genericNACK(nack))))
        }
        if telling != .packets { return reportOnStream() }
        guard now >= feedbackAt + ModelReceiver.interval, let feedback = receiver.takeReport() else { return }
        feedbackAt = now
        events.append((now + roundTrip / 2, .feedback(.transportFeedback(feedback))))
    }

    private mutating func reportOnStream() {
        guard now >= feedbackAt + .seconds(telling == .reports ? 1 : 5), let newest else { return }
        feedbackAt = now
        let block = ReportBlock(
            ssrc: bundle.streams[0].ssrc,
            fractionLost: 0,
            cumulativeLost: Int32(lostCount),
            highestSequenceNumber: UInt32(newest),
            jitter: 0,
            lastSenderReport: answers?.report.middle ?? 0,
            delaySinceLastSenderReport: answers.map { UInt32((now - $0.at).seconds * 65536) } ?? 0
        )
        let report = ReceiverReport(ssrc: 9, reports: [block])
        events.append((now + roundTrip / 2, .feedback(.receiverReport(report))))
    }

    // MARK: - Outcome

    /// How long each frame took until all of it had arrived; nil for one that has not.
    var latencies: [Duration?] {
        frames.map { frame in
            var last = Instant.start
            for offset in 0..<frame.count {
                guard let at = arrivals[frame.number &+ UInt16(offset)] else { return nil }
                last = max(last, at)
            }
            return last - frame.madeAt
        }
    }
}
