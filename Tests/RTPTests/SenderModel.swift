import Media
import Testing

@testable import RTP

/// A viewer's stream under random events, beside a plain record of what was appended and sent. The record keeps
/// everything and says of each packet which one it must be.
struct SenderModel {
    static let millisecond: UInt64 = 1_000_000

    enum Place: Equatable {
        case waiting(since: UInt64)
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
    var now: UInt64

    // What was appended.
    var archive: [PacketHistory.Packet] = []
    var keyframe: (index: Int, appendedAt: UInt64)?
    // What was sent.
    var sent: [Int: [UInt8]] = [:]
    var place = Place.waiting(since: 0)
    var start = 0
    var number: UInt16?
    var numberOffset: UInt16 = 0
    var repairNumber: UInt16?
    var timestampOffset: UInt32?
    var octets = 0
    var skips: UInt64 = 0
    // What the viewer asked for.
    var wantsKeyframe = true
    var requestInterval = 1000 * Self.millisecond
    var nextRequest: UInt64 = 0
    /// Until then a request means the keyframe that is on its way.
    var awaitedUntil: UInt64 = 0
    var repairs: Pacer
    var pending: [Int] = []
    var repeatedAt: [Int: UInt64] = [:]
    var hasReported = false
    var lastCommand: UInt8?
    // A leaky bucket, in bytes.
    var level = 0.0
    var levelAt: UInt64 = 0
    var written = 0

    init(seed: UInt64) {
        random = SplitMix64(seed: seed)
        now = UInt64.random(in: 0...1 << 40, using: &random)
        clock = ClockReading(monotonic: now, wall: 1_767_225_600_000 * Self.millisecond)
        capacity = Int.random(in: 30...250, using: &random)
        let mid = ["", "0", "video0", String(repeating: "m", count: 17)].randomElement(using: &random)!
        parameters = OutgoingStream.Parameters(
            payloadType: 96,
            retransmissionPayloadType: Bool.random(using: &random) ? 97 : nil,
            extensions: HeaderExtensions(
                mid: Bool.random(using: &random) ? 3 : nil,
                playoutDelay: Bool.random(using: &random) ? 4 : nil,
                captureTime: Bool.random(using: &random) ? 14 : nil
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
        _ = randomCanonicalName(using: &random)
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
            capturedAt: now - min(now, .random(in: 0...20 * Self.millisecond, using: &random)),
            now: now
        )
        if isKeyframe { keyframe = (archive.count, now) }
        while archive.count < history.end { archive.append(history[UInt64(archive.count)]) }
    }

    mutating func losePicture() {
        sender.receive(.pictureLoss(PictureLossIndication(sender: 1, media: stream.ssrc)), now: now)
        sender.receive(.pictureLoss(PictureLossIndication(sender: 1, media: stream.ssrc &+ 9)), now: now)
        if now >= awaitedUntil { wantsKeyframe = true }
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
        let patience = max(sender.roundTripTime ?? 0, 10 * Self.millisecond)
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
        let trip = UInt64.random(in: 0...80, using: &random) * Self.millisecond
        let block = ReportBlock(
            ssrc: stream.ssrc,
            fractionLost: 64,
            cumulativeLost: 3,
            highestSequenceNumber: 0,
            jitter: 0,
            lastSenderReport: clock.ntpTime(at: now &- trip).middle,
            delaySinceLastSenderReport: 0
        )
        sender.receive(.receiverReport(ReceiverReport(ssrc: 1, reports: [block])), now: now)
        hasReported = true
    }

    mutating func takeKeyframeRequest() -> Bool {
        let asks = sender.takeKeyframeRequest(of: parameters.mid, at: now)
        #expect(asks == (wantsKeyframe && now >= nextRequest))
        if asks {
            wantsKeyframe = false
            let isContent = now >= nextRequest + 8000 * Self.millisecond
            requestInterval = isContent ? 1000 * Self.millisecond : min(requestInterval * 2, 8000 * Self.millisecond)
            nextRequest = now + requestInterval
        }
        return asks
    }

    // MARK: - Reference

    func isKept(_ index: Int) -> Bool { index + capacity >= archive.count }

    mutating func catchUp() {
        switch place {
        case .waiting(let since):
            guard let keyframe, keyframe.appendedAt >= since, keyframe.appendedAt + 400 * Self.millisecond >= now,
                isKept(keyframe.index)
            else { return }
            go(to: keyframe.index)
        case .at(let index):
            guard index < archive.count else { return }
            let isLate = !isKept(index) || archive[index].appendedAt + 500 * Self.millisecond < now
            if isLate, let keyframe, keyframe.index > index, isKept(keyframe.index) {
                skips += 1
                return go(to: keyframe.index)
            }
            guard !isKept(index) else { return }
            skips += 1
            place = .waiting(since: now)
            wantsKeyframe = true
            awaitedUntil = 0
        }
    }

    private mutating func go(to index: Int) {
        place = .at(index)
        wantsKeyframe = false
        awaitedUntil = .max
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
