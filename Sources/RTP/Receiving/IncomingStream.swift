import Media
import Time

/// One stream of video from a peer: whole frames in their order, each as soon as it is there.
///
/// What is missing is asked for, and waited for; nothing else delays a frame. Where it is given up, the stream goes on with the
/// next keyframe, and so it does without waiting if one is there that is whole.
struct IncomingStream {
    /// Between two requests for a keyframe.
    private static let keyframeInterval = Duration.milliseconds(500)

    let ssrc: UInt32
    private var numbers = SequenceUnwrapper()
    private var buffer = ReorderingBuffer()
    private var losses = PacketLosses()
    private(set) var statistics = ReceptionStatistics(clockRate: VideoCodec.clockRate)
    /// The frame whose next packet is to come.
    private var frame: FrameAssembly?
    /// Whether frames are thrown away until a keyframe comes.
    private var awaitsKeyframe = true
    /// Whether packets came since a keyframe was asked for: a peer that sends nothing is not asked again.
    private var hasNews = false
    private var keyframeAskedAt: Instant?
    private var asksForKeyframe = false
    private var frames: [ReceivedFrame] = []

    init(ssrc: UInt32) { self.ssrc = ssrc }

    mutating func takeFrames() -> [ReceivedFrame] {
        defer { frames.removeAll() }
        return frames
    }

    // MARK: - In

    /// Takes a packet of the source itself.
    ///
    /// - Parameter codec: what its payload type means.
    mutating func receive(_ packet: IncomingPacket, _ codec: (UInt8) -> VideoCodec?, now: Instant) {
        statistics.note(packet.header, at: now)
        insert(packet, codec, now: now)
    }

    /// Takes a packet that was lost and came again in another stream (RFC 4588).
    mutating func receiveAgain(_ packet: IncomingPacket, _ codec: (UInt8) -> VideoCodec?, now: Instant) {
        insert(packet, codec, now: now)
    }

    mutating func receive(_ report: SenderReport, now: Instant) { statistics.note(report, at: now) }

    /// What was received is of no use to a decoder.
    mutating func requestKeyframe() { loseFrames() }

    private mutating func insert(_ packet: IncomingPacket, _ codec: (UInt8) -> VideoCodec?, now: Instant) {
        let before = numbers.highest
        let number = numbers.unwrap(packet.header.sequenceNumber)
        hasNews = true
        switch buffer.insert(packet, number) {
        case .isOld: return
        case .isFarAhead:
            losses.forget(before: number)
            loseFrames()
        case .isNew:
            losses.noteArrival(of: number)
            if let before, number > before + 1, !losses.noteGap(before + 1..<number, now: now) {
                giveUp(before: number)
            }
        }
        drain(codec)
        if packet.header.marker || number < before ?? number { goOnWithKeyframe(codec) }
    }

    private mutating func loseFrames() {
        frame = nil
        awaitsKeyframe = true
        asksForKeyframe = true
    }

    private mutating func giveUp(before number: Int64) {
        buffer.skip(to: number)
        losses.forget(before: number)
        loseFrames()
    }

    // MARK: - Frames

    private mutating func drain(_ codec: (UInt8) -> VideoCodec?) {
        while let packet = buffer.takeNext() { take(packet, codec) }
    }

    /// Takes the next packet of all that were sent, or after a gap the first one.
    private mutating func take(_ packet: IncomingPacket, _ codec: (UInt8) -> VideoCodec?) {
        // Padding.
        guard !packet.payload.isEmpty, let codec = codec(packet.header.payloadType) else { return }
        // Some senders set no marker.
        if let frame, frame.timestamp != packet.header.timestamp || frame.codec != codec { finishFrame() }
        if awaitsKeyframe, frame == nil, !FrameAssembly.beginsKeyframe(packet.payload, codec) {
            asksForKeyframe = true
            return
        }
        var frame = self.frame.take() ?? FrameAssembly(codec: codec, timestamp: packet.header.timestamp)
        do throws(MalformedPacket) {
            try frame.append(packet.payload)
        } catch {
            return loseFrames()
        }
        self.frame = frame
        if packet.header.marker { finishFrame() }
    }

    private mutating func finishFrame() {
        guard let received = frame.take()?.finish() else { return loseFrames() }
        guard received.isKeyframe || !awaitsKeyframe else { return }
        if awaitsKeyframe { (awaitsKeyframe, asksForKeyframe) = (false, false) }
        frames.append(received)
    }

    /// Where packets are missing, looks whether a whole keyframe is there behind them.
    private mutating func goOnWithKeyframe(_ codec: (UInt8) -> VideoCodec?) {
        guard let next = buffer.next, next < buffer.end else { return }
        var start: Int64?
        for number in next..<buffer.end {
            guard let packet = buffer[number] else {
                start = nil
                continue
            }
            if let type = codec(packet.header.payloadType), FrameAssembly.beginsKeyframe(packet.payload, type) {
                start = number
            }
            guard let first = start, packet.header.marker else { continue }
            buffer.skip(to: first)
            losses.forget(before: first)
            frame = nil
            awaitsKeyframe = true
            return drain(codec)
        }
    }

    // MARK: - Out

    /// Gives up what was asked for in vain.
    mutating func tick(_ codec: (UInt8) -> VideoCodec?, now: Instant) {
        while losses.isHopeless(at: now) {
            giveUp(before: buffer.first ?? buffer.end)
            drain(codec)
        }
    }

    /// The numbers of packets to ask for now.
    mutating func takeRequests(roundTripTime: Duration?, at now: Instant) -> [UInt16] {
        losses.takeRequests(roundTripTime: roundTripTime, at: now)
    }

    /// Whether to ask for a keyframe now.
    mutating func takeKeyframeRequest(at now: Instant) -> Bool {
        guard let due = keyframeDeadline, due <= now else { return false }
        keyframeAskedAt = now
        hasNews = false
        return true
    }

    mutating func takeReport(at now: Instant) -> ReportBlock? { statistics.takeReport(of: ssrc, at: now) }

    private var keyframeDeadline: Instant? {
        guard asksForKeyframe, hasNews else { return nil }
        return keyframeAskedAt.map { $0 + Self.keyframeInterval } ?? .start
    }

    /// When `tick` or a request has something to do; nil while there is nothing to wait for. May lie in the past.
    var nextDeadline: Instant? { earliest(losses.nextDeadline, keyframeDeadline) }
}
