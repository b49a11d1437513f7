import Media
import TestSupport
import Time

@testable import RTP

/// A bundle of one stream, a link, and a receiver that tells of arrivals and asks for what it has lost, in virtual time of a
/// millisecond a step.
struct StackSimulation {
    /// A packet that arrived or is lost, by its number in the stream.
    private enum Fate {
        case arrived(Instant)
        case missing(askedAt: Instant?)
    }

    private enum Event {
        case packet([UInt8], transport: UInt64)
        case feedback(RTCPPacket)
    }

    private static let step = Duration.milliseconds(1)
    private static let transportID: UInt8 = 5
    static let target = 2_500_000

    var link: VirtualLink
    var bundle: StreamBundle
    private let history: PacketHistory
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
    // What arrived.
    private var fates: [UInt16: Fate] = [:]
    private var newest: UInt16?
    private var feedbackAt = Instant.start

    init(_ conditions: VirtualLink.Conditions, seed: UInt64 = 1) {
        link = VirtualLink(conditions, seed: seed)
        roundTrip = conditions.delay * 2
        var random = SplitMix64(seed: seed)
        history = PacketHistory(codec: .vp8, maximumPayloadSize: 1100, capacity: 2000, using: &random)
        let parameters = OutgoingStream.Parameters(
            payloadType: 96,
            retransmissionPayloadType: 97,
            extensions: HeaderExtensions(transportNumber: Self.transportID),
            mid: "0"
        )
        bundle = StreamBundle(
            [(parameters, history)],
            pace: .video(targetBitrate: UInt64(Self.target)),
            judgesReach: false,
            clock: ClockReading(monotonic: now, wall: 0),
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
            transportNumbers.append(number!)
            bytesSent += bytes.count
            if transportNumbers.count == 1 { frames[0].number = UInt16(bytes[2]) << 8 | UInt16(bytes[3]) }
            if bytes[0] & 0x20 != 0 {
                paddingSent += bytes.count
            } else if bytes[1] & 0x7F == 97 {
                packetsRepeated += 1
            }
            let transport = UInt64(transportNumbers.count - 1)
            for at in link.send(bytes.count, at: now) { events.append((at, .packet(bytes, transport: transport))) }
            bytes.removeAll()
        }
    }

    private mutating func deliver() {
        let due = events.filter { $0.at <= now }.sorted { $0.at < $1.at }
        events.removeAll { $0.at <= now }
        for (at, event) in due {
            switch event {
            case .feedback(let packet): bundle.receive(packet, now: now)
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
        if case .arrived = fates[number] { return }
        fates[number] = .arrived(at)
        guard let newest else {
            self.newest = number
            return
        }
        let distance = number &- newest
        guard distance < 0x8000, distance > 0 else { return }
        for missing in 1..<max(distance, 1) { fates[newest &+ missing] = .missing(askedAt: nil) }
        self.newest = number
    }

    private mutating func report() {
        let lost = fates.filter { _, fate in
            guard case .missing(let askedAt) = fate else { return false }
            return askedAt.map { now - $0 >= max(roundTrip, .milliseconds(100)) } ?? true
        }.keys.sorted()
        if !lost.isEmpty {
            for number in lost { fates[number] = .missing(askedAt: now) }
            let nack = GenericNACK(sender: 1, media: bundle.streams[0].ssrc, lost: lost)
            events.append((now + roundTrip / 2, .feedback(.genericNACK(nack))))
        }
        guard now >= feedbackAt + ModelReceiver.interval, let feedback = receiver.takeReport() else { return }
        feedbackAt = now
        events.append((now + roundTrip / 2, .feedback(.transportFeedback(feedback))))
    }

    // MARK: - Outcome

    /// How long each frame took until all of it had arrived; nil for one that has not.
    var latencies: [Duration?] {
        frames.map { frame in
            var last = Instant.start
            for offset in 0..<frame.count {
                guard case .arrived(let at) = fates[frame.number &+ UInt16(offset)] else { return nil }
                last = max(last, at)
            }
            return last - frame.madeAt
        }
    }
}
