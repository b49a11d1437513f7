import Media
import Testing
import Time

@testable import RTP

/// A viewer's stream under random events, beside a plain record of what was appended and sent. The record keeps
/// everything and says of each packet which one it must be.
struct SenderModel {
    enum Place: Equatable {
        case waiting(since: Instant?)
        case at(Int)
    }

    enum Expected: Equatable {
        case new(Int)
        case again(Int)
    }

    let parameters: OutgoingStream.Parameters
    let pace: Pacer.Pace
    let capacity: Int
    let clock: ClockReading
    var random: SplitMix64
    var sender: StreamBundle
    var history: PacketHistory
    var now: Instant

    // What was appended.
    var archive: [PacketHistory.Packet] = []
    var keyframe: (index: Int, appendedAt: Instant)?
    // What was sent.
    var sent: [Int: [UInt8]] = [:]
    var place = Place.waiting(since: nil)
    var start = 0
    var number: UInt16?
    var numberOffset: UInt16 = 0
    var repairNumber: UInt16?
    var timestampOffset: UInt32?
    var octets = 0
    var skips: UInt64 = 0
    // What the viewer asked for.
    var wantsKeyframe = true
    var requestInterval = Duration.seconds(1)
    var nextRequest: Instant?
    /// Until then a request means the keyframe that is on its way, or that is still being sent.
    var awaitedUntil: Instant?
    var isBeingSent = false
    var repairs: Pacer
    var pending: [Int] = []
    var repeatedAt: [Int: Instant] = [:]
    var hasReported = false
    var lastCommand: UInt8?
    // A leaky bucket, in bytes.
    var level = 0.0
    var levelAt = Instant.start
    var written = 0

    init(seed: UInt64) {
        random = SplitMix64(seed: seed)
        now = Instant(nanoseconds: .random(in: 0...1 << 40, using: &random))
        clock = ClockReading(monotonic: now, wall: 1_767_225_600_000_000_000)
        capacity = Int.random(in: 30...250, using: &random)
        let mid = ["", "0", "video0", String(repeating: "m", count: 17)].randomElement(using: &random)!
        parameters = OutgoingStream.Parameters(
            payloadType: 96,
            retransmissionPayloadType: Bool.random(using: &random) ? 97 : nil,
            extensions: HeaderExtensions(
                mid: Bool.random(using: &random) ? 3 : nil,
                playoutDelay: Bool.random(using: &random) ? 4 : nil,
                captureTime: Bool.random(using: &random) ? 14 : nil,
                colourSpace: Bool.random(using: &random) ? 9 : nil
            ),
            mid: mid
        )
        pace = Pacer.Pace(
            rate: .random(in: 500_000...20_000_000, using: &random),
            burst: .random(in: 2400...24_000, using: &random)
        )
        repairs = Pacer(pace: Pacer.Pace(rate: pace.rate / 10, burst: 160_000))
        history = PacketHistory(
            codec: Bool.random(using: &random) ? .vp8 : .vp9,
            maximumPayloadSize: .random(in: 300...1134, using: &random),
            capacity: capacity,
            using: &random
        )
        var own = SplitMix64(seed: seed)
        sender = StreamBundle([(parameters, history)], pace: pace, clock: clock, using: &own)
    }

    /// The number of the first packet that a sender of a seed sends.
    static func firstNumber(seed: UInt64) -> UInt16 {
        var random = SplitMix64(seed: seed)
        _ = randomName(digits: 24, using: &random)
        return RTPStream(payloadType: 96, using: &random).nextSequenceNumber
    }

    var stream: OutgoingStream { sender.streams[0] }

    // MARK: - Events

    mutating func append(isKeyframe: Bool) {
        let packets = Int.random(in: 1...capacity / 4, using: &random)
        let size = Int.random(in: 1...packets * 290, using: &random)
        let seed = random.next()
        let frame = (0..<size).map { UInt8(truncatingIfNeeded: seed >> UInt64($0 % 57) &+ UInt64($0)) }
        history.append(
            frame: frame,
            isKeyframe: isKeyframe,
            dimensions: (640, 480),
            capturedAt: now - .nanoseconds(Int.random(in: 0...20_000_000, using: &random)),
            now: now
        )
        if isKeyframe { keyframe = (archive.count, now) }
        while archive.count < history.end { archive.append(history[UInt64(archive.count)]) }
    }

    mutating func losePicture() {
        sender.receive(.pictureLoss(PictureLossIndication(sender: 1, media: stream.ssrc)), now: now)
        sender.receive(.pictureLoss(PictureLossIndication(sender: 1, media: stream.ssrc &+ 9)), now: now)
        if !isAwaited { wantsKeyframe = true }
    }

    /// Commands with the number of the last one are repetitions.
    mutating func command() {
        let number = UInt8.random(in: 0...1, using: &random)
        let commands = [FullIntraRequest.Command(ssrc: stream.ssrc, sequenceNumber: number)]
        sender.receive(.fullIntra(FullIntraRequest(sender: 1, commands: commands)), now: now)
        if number != lastCommand { wantsKeyframe = true }
        lastCommand = number
    }

    /// Numbers near the newest, sent and not.
    mutating func lose() {
        guard let number else { return }
        let lost = (0..<Int.random(in: 1...20, using: &random)).map { _ in
            number &- UInt16.random(in: 0...60, using: &random) &+ 8
        }
        sender.receive(.genericNACK(GenericNACK(sender: 1, media: stream.ssrc, lost: lost)), now: now)
        guard case .at(let next) = place else { return }
        let patience = max(sender.roundTripTime ?? .zero, .milliseconds(10))
        for lost in lost {
            guard let index = (start..<next).last(where: { UInt16(truncatingIfNeeded: $0) &+ numberOffset == lost }),
                isKept(index), repairs.earliest(forPacketOf: 1200) <= now,
                !pending.contains(index), repeatedAt[index].map({ now >= $0 + patience }) ?? true
            else { continue }
            repairs.note(packetOf: 1200, at: now)
            pending.append(index)
        }
    }

    mutating func report() {
        guard number != nil else { return }
        let trip = Int.random(in: 0...80, using: &random)
        let block = ReportBlock(
            ssrc: stream.ssrc,
            fractionLost: 64,
            cumulativeLost: 3,
            highestSequenceNumber: 0,
            jitter: 0,
            lastSenderReport: clock.ntpTime(at: now - .milliseconds(trip)).middle,
            delaySinceLastSenderReport: 0
        )
        sender.receive(.receiverReport(ReceiverReport(ssrc: 1, reports: [block])), now: now)
        hasReported = true
    }

    mutating func takeKeyframeRequest() -> Bool {
        let asks = sender.takeKeyframeRequest(of: parameters.mid, at: now)
        #expect(asks == (wantsKeyframe && mayAsk))
        if asks {
            wantsKeyframe = false
            let isContent = nextRequest.map { now >= $0 + .seconds(8) } ?? true
            requestInterval = isContent ? .seconds(1) : min(requestInterval * 2, .seconds(8))
            nextRequest = now + requestInterval
        }
        return asks
    }

    // MARK: - Reference

    var mayAsk: Bool { nextRequest.map { now >= $0 } ?? true }

    var isAwaited: Bool { isBeingSent || awaitedUntil.map { now < $0 } ?? false }

    func isKept(_ index: Int) -> Bool { index + capacity >= archive.count }

    mutating func catchUp() {
        switch place {
        case .waiting(let since):
            guard let keyframe, keyframe.appendedAt >= since ?? .start, keyframe.appendedAt + .milliseconds(400) >= now,
                isKept(keyframe.index)
            else { return }
            go(to: keyframe.index)
        case .at(let index):
            guard index < archive.count else { return }
            let isLate = !isKept(index) || archive[index].appendedAt + .milliseconds(500) < now
            if isLate, let keyframe, keyframe.index > index, isKept(keyframe.index) {
                skips += 1
                return go(to: keyframe.index)
            }
            guard !isKept(index) else { return }
            skips += 1
            place = .waiting(since: now)
            wantsKeyframe = true
            (isBeingSent, awaitedUntil) = (false, nil)
        }
    }

    private mutating func go(to index: Int) {
        place = .at(index)
        wantsKeyframe = false
        isBeingSent = true
        start = index
        pending.removeAll()
        if let number { numberOffset = number &- UInt16(truncatingIfNeeded: index) }
    }

    mutating func expected() -> Expected? {
        pending = pending.filter { isKept($0) }
        if let index = pending.first { return .again(index) }
        guard case .at(let index) = place, index < archive.count else { return nil }
        return .new(index)
    }
}
