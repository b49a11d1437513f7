import Media
import Time

/// One stream of video from a peer: whole frames in their order, each as soon as it is complete.
///
/// Missing packets are asked for and waited for; nothing else delays a frame. When they are given up, the stream
/// continues at the next keyframe. If a whole keyframe is there already, it does so without waiting.
struct IncomingStream {
    private enum State {
        /// Packets are kept until the first one of a keyframe is there. From `askAt` on, the keyframe is asked for; nil
        /// before the first packet.
        case awaitingKeyframe(askAt: Instant?)
        /// Each packet belongs to this frame or to the next one.
        case going(FrameAssembly?)
    }

    /// Between two requests for a keyframe.
    private static let keyframeInterval = Duration.milliseconds(500)
    /// How long the first packets of a stream may arrive before the one that begins the keyframe.
    private static let firstPatience = Duration.milliseconds(30)

    let ssrc: UInt32
    /// By payload type.
    private let codecs: [UInt8: StreamCodec]
    private var numbers = SequenceUnwrapper()
    private var buffer = ReorderingBuffer()
    var losses = PacketLosses()
    var statistics = ReceptionStatistics(clockRate: VideoCodec.clockRate)
    private var state = State.awaitingKeyframe(askAt: nil)
    /// Whether there was a keyframe.
    private var hasBegun = false
    /// Whether packets came since the last request for a keyframe. A peer that sends nothing is not asked again.
    private var hasNews = false
    private var keyframeAskedAt: Instant?
    private var frames: [ReceivedFrame] = []

    init(ssrc: UInt32, codecs: [UInt8: StreamCodec]) { (self.ssrc, self.codecs) = (ssrc, codecs) }

    mutating func takeFrames() -> [ReceivedFrame] { exchange(&frames, with: []) }

    // MARK: - Input

    /// Receives a packet of the source itself.
    mutating func receive(_ packet: IncomingPacket, now: Instant) {
        statistics.notePacket(packet.header, at: now)
        receiveAgain(packet, now: now)
    }

    /// Asks for a keyframe: the decoder cannot use the received frames.
    mutating func requestKeyframe() {
        loseFrames()
        goOn()
    }

    /// Receives a packet, perhaps a lost one that came again in another stream (RFC 4588).
    mutating func receiveAgain(_ packet: IncomingPacket, now: Instant) {
        let before = numbers.highest
        let number = numbers.unwrap(packet.header.sequenceNumber)
        var isFirst = false
        if case .awaitingKeyframe(nil) = state {
            state = .awaitingKeyframe(askAt: now + Self.firstPatience)
            isFirst = true
        }
        hasNews = true
        let beginsKeyframe = begins(packet)
        switch buffer.insert(packet, number, beginsKeyframe: beginsKeyframe, mayBeginEarlier: !hasBegun) {
        case .isOld: return
        case .isFarAhead:
            losses.forget(before: number)
            loseFrames()
        case .isNew:
            losses.noteArrival(of: number)
            if !isFirst, let before, number > before + 1, !losses.noteGap(before + 1..<number, now: now) {
                giveUp(before: number)
            }
        }
        goOn()
        guard !isAwaiting, packet.header.marker || number < before ?? number,
            let start = buffer.keyframe(around: number)
        else { return }
        // Packets are missing, but none of a keyframe behind them.
        begin(at: start)
        goOn()
    }

    private var isAwaiting: Bool { if case .awaitingKeyframe = state { true } else { false } }

    private func codec(_ payloadType: UInt8) -> VideoCodec? {
        if case .video(let codec) = codecs[payloadType] { codec } else { nil }
    }

    private func begins(_ packet: IncomingPacket) -> Bool {
        codec(packet.header.payloadType).map { FrameAssembly.beginsKeyframe(packet.payload, $0) } ?? false
    }

    /// Drops all frames until the next keyframe.
    private mutating func loseFrames() { state = .awaitingKeyframe(askAt: .start) }

    /// Drops all packets before the first one of a keyframe, and continues there.
    private mutating func begin(at number: Int64) {
        buffer.skip(to: number)
        losses.forget(before: number)
        state = .going(nil)
        hasBegun = true
    }

    private mutating func giveUp(before number: Int64) {
        buffer.skip(to: number)
        losses.forget(before: number)
        loseFrames()
    }

    // MARK: - Frames

    /// Takes the packets in order, after a loss from the next keyframe on. Each step takes a packet.
    private mutating func goOn() {
        while true {
            if isAwaiting {
                guard let start = buffer.firstStart else { return }
                begin(at: start)
            }
            guard let packet = buffer.takeNext() else { return }
            assemble(packet)
        }
    }

    /// Adds the next packet of all that were sent to its frame.
    private mutating func assemble(_ packet: IncomingPacket) {
        // Padding.
        guard !packet.payload.isEmpty, let type = codec(packet.header.payloadType), case .going(var frame) = state
        else { return }
        // Some senders set no marker.
        if let before = frame, before.timestamp != packet.header.timestamp || before.codec != type {
            // After a frame that is not whole, the packet must begin a keyframe.
            guard finish(before) || begins(packet) else { return }
            frame = nil
        }
        state = .going(nil)
        var assembly = frame.take() ?? FrameAssembly(codec: type, timestamp: packet.header.timestamp)
        do throws(MalformedPacket) {
            try assembly.append(packet.payload)
        } catch {
            return loseFrames()
        }
        if packet.header.marker { _ = finish(assembly) } else { state = .going(assembly) }
    }

    /// Returns whether the frame is whole.
    private mutating func finish(_ frame: FrameAssembly) -> Bool {
        guard let received = frame.finish() else {
            loseFrames()
            return false
        }
        frames.append(received)
        return true
    }

    // MARK: - Output

    /// Gives up packets that were asked for in vain.
    mutating func tick(now: Instant) {
        while let lost = losses.hopeless(at: now) {
            if isAwaiting {
                losses.forget(before: lost + 1)
            } else {
                giveUp(before: buffer.first ?? buffer.end)
                goOn()
            }
        }
    }

    mutating func takeKeyframeRequest(at now: Instant) -> Bool {
        guard let due = keyframeDeadline, due <= now else { return false }
        keyframeAskedAt = now
        hasNews = false
        return true
    }

    private var keyframeDeadline: Instant? {
        guard hasNews, case .awaitingKeyframe(let askAt?) = state else { return nil }
        return keyframeAskedAt.map { max(askAt, $0 + Self.keyframeInterval) } ?? askAt
    }

    /// When `tick` or a request is due; nil while nothing is. May lie in the past.
    var nextDeadline: Instant? { earliest(losses.nextDeadline, keyframeDeadline) }
}
