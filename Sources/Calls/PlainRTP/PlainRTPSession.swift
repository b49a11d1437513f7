import Media
import RTP
import Time

/// One video stream to one receiver over plain RTP (RFC 3550, RTP/AVPF), without sockets and clock.
///
/// After each call that changes it, drain the session with `nextOutput` and call again when `nextDeadline` comes.
struct PlainRTPSession {
    struct Configuration: Sendable {
        var codec: VideoCodec
        /// 96…127.
        var payloadType: UInt8 = 96
        /// Bytes of an RTP packet with its header.
        var maximumPacketSize = 1200
        /// The encoder's, in bits a second; packets leave at up to five times that.
        var targetBitrate: UInt64 = 2_500_000
    }

    private(set) var configuration: Configuration
    private let clock: ClockReading
    private let canonicalName: String
    private var packetizer: VideoPacketizer
    private var stream: RTPStream
    private var queue: PacketQueue
    private var reports: ReportSchedule
    private var keyframeRequests = KeyframeRequests()
    private var listener: ListenerWatch
    private var counted = PlainRTPStatistics()
    private var hasEnded = false

    /// - Parameters:
    ///   - clock: the capture clock and the wall clock at one instant; sender reports tie them together.
    ///   - refusalsAreLimited: false if the receiver is on the loopback, where no refusal is lost.
    init(
        _ configuration: Configuration,
        clock: ClockReading,
        refusalsAreLimited: Bool = true,
        using random: inout some RandomNumberGenerator
    ) {
        self.configuration = configuration
        self.clock = clock
        canonicalName = randomCanonicalName(using: &random)
        packetizer = VideoPacketizer(
            codec: configuration.codec,
            maximumPacketSize: configuration.maximumPacketSize,
            pictureID: .random(in: 0...0x7FFF, using: &random),
            baseLayerIndex: .random(in: 0 ... .max, using: &random)
        )
        stream = RTPStream(payloadType: configuration.payloadType, using: &random)
        queue = PacketQueue(
            pace: .video(targetBitrate: configuration.targetBitrate, packetSize: configuration.maximumPacketSize),
            packetSize: configuration.maximumPacketSize
        )
        reports = ReportSchedule(seed: random.next())
        listener = ListenerWatch(refusalsAreLimited: refusalsAreLimited)
    }

    var ssrc: UInt32 { stream.ssrc }

    /// Queues one encoded picture.
    ///
    /// - Parameters:
    ///   - dimensions: width and height in pixels.
    ///   - capturedAt: when the picture was on the screen.
    /// - Returns: false if the picture was dropped, because the queue is full or the session has ended. A keyframe is
    ///   requested then, since the receiver cannot follow.
    @discardableResult
    mutating func send(
        frame: Span<UInt8>,
        isKeyframe: Bool,
        dimensions: (width: UInt16, height: UInt16),
        capturedAt: Instant,
        now: Instant
    ) -> Bool {
        precondition(!frame.isEmpty)
        if hasEnded { return false }
        var packetizer = packetizer
        let fragments = packetizer.packetize(frame, isKeyframe: isKeyframe, dimensions: dimensions)
        guard queue.room >= fragments.count else {
            // `self.packetizer` stays: a picture that does not go out takes no picture ID.
            counted.picturesDropped += 1
            keyframeRequests.request()
            return false
        }
        self.packetizer = packetizer
        let timestamp = stream.timestamp(capturedAt: capturedAt)
        for fragment in fragments {
            let header = stream.nextHeader(timestamp: timestamp, marker: fragment.isLast)
            queue.append { packet in
                header.write(to: &packet)
                fragments.write(fragment, of: frame, to: &packet)
            }
        }
        counted.pictures += 1
        if isKeyframe {
            counted.keyframes += 1
            keyframeRequests.keyframeSent(at: now)
        }
        return true
    }

    /// Drops what waits to be sent: it must not be seen any more. The receiver needs a keyframe then.
    ///
    /// - Parameter isCut: of what was handed out, not all was sent, nor will be.
    mutating func forgetPast(isCut: Bool) {
        guard isCut || !queue.isEmpty else { return }
        queue.removeAll()
        keyframeRequests.request()
    }

    /// Takes an RTCP datagram from the receiver. A malformed one is counted and has no effect.
    mutating func receive(rtcp datagram: [UInt8], now: Instant) {
        let packets: [RTCPPacket]
        do {
            packets = try RTCPPacket.parse(datagram)
        } catch {
            counted.malformedFeedback += 1
            return
        }
        if listener.heard() { keyframeRequests.request() }
        for packet in packets {
            switch packet {
            case .senderReport(let report): note(report.reports, now: now)
            case .receiverReport(let report): note(report.reports, now: now)
            case .pictureLoss(let loss) where loss.media == ssrc: keyframeRequests.request()
            case .fullIntra(let request):
                for command in request.commands where command.ssrc == ssrc {
                    keyframeRequests.request(command.sequenceNumber, from: request.sender)
                }
            default: break
            }
        }
    }

    /// The receiver's host refused a datagram: nobody listens on the port.
    mutating func refused(now: Instant) { listener.refused(at: now) }

    /// False while the receiver's host refuses packets.
    var receiverListening: Bool { listener.isListening }

    /// The system would not send a packet that was handed out.
    mutating func packetFailed() { counted.packetsFailed += 1 }

    /// From when on a keyframe may be made that is asked for; nil while none is. May lie in the past.
    var keyframeAt: Instant? { keyframeRequests.nextDeadline }

    /// What was encoded last does not reach the receiver.
    mutating func requestKeyframe() { keyframeRequests.request() }

    /// Appends what may go out at `now`: packets for the RTP port, an empty one being a probe, and for the RTCP port.
    mutating func nextOutput(now: Instant, rtp: inout PacketBatch, rtcp: inout PacketBatch) {
        let before = rtp.count
        while queue.dequeue(at: now, into: &rtp) {
            let size = rtp[rtp.count - 1].count
            stream.notePacketSent(payloadSize: size - RTPHeader.size)
            counted.packets += 1
            counted.bytes += UInt64(size)
        }
        switch listener.poll(at: now) {
        case .probe where rtp.count == before: rtp.append([])
        case .appeared: keyframeRequests.request()
        case .probe, nil: break
        }
        if rtp.count > before { listener.sent(at: now) }
        if stream.packetCount > 0 { reports.packetSent(at: now) }
        if !hasEnded, reports.isDue(at: now) {
            rtcp.append(report(at: now))
            reports.reportSent(at: now)
        }
    }

    /// When `nextOutput` must be called at the latest; nil while there is nothing to wait for. May lie in the past.
    var nextDeadline: Instant? {
        hasEnded ? nil : earliest(queue.nextDeadline, listener.nextDeadline, reports.nextDeadline)
    }

    /// What waits in the queue. A sender that skips pictures while more than 100 ms wait stays current.
    func backlog(now: Instant) -> PacketQueue.Backlog { queue.backlog(at: now) }

    /// Changes the encoder's target, in bits a second, and the pace with it.
    mutating func setTargetBitrate(_ bitrate: UInt64) {
        configuration.targetBitrate = bitrate
        queue.pace = .video(targetBitrate: bitrate, packetSize: configuration.maximumPacketSize)
    }

    /// Ends the stream: drops what waits and appends the goodbye, which a stream that never sent does not say.
    mutating func end(now: Instant, rtcp: inout PacketBatch) {
        if hasEnded { return }
        hasEnded = true
        queue.removeAll()
        guard stream.packetCount > 0 else { return }
        var datagram = report(at: now)
        Goodbye(ssrcs: [ssrc]).write(to: &datagram)
        rtcp.append(datagram)
    }

    var statistics: PlainRTPStatistics {
        var statistics = counted
        statistics.keyframeRequests = keyframeRequests.count
        statistics.receiverListening = receiverListening
        return statistics
    }

    /// A compound of sender report and name, as each datagram must begin (RFC 3550 §6.1).
    private func report(at now: Instant) -> [UInt8] {
        var datagram: [UInt8] = []
        stream.senderReport(at: now, clock: clock).write(to: &datagram)
        SourceDescription(ssrc: ssrc, canonicalName: canonicalName).write(to: &datagram)
        return datagram
    }

    private mutating func note(_ blocks: [ReportBlock], now: Instant) {
        guard let block = blocks.last(where: { $0.ssrc == ssrc }) else { return }
        counted.report = .init(
            lossFraction: Double(block.fractionLost) / 256,
            packetsLost: block.cumulativeLost,
            jitter: .seconds(block.jitter) / VideoCodec.clockRate,
            roundTripTime: block.roundTripTime(arrivedAt: clock.ntpTime(at: now)) ?? counted.report?.roundTripTime
        )
    }
}
