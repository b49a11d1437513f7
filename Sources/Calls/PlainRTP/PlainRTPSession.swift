import Media
import RTP
import Time

/// One video stream to one receiver over plain RTP (RFC 3550, RTP/AVPF), without sockets and clock.
///
/// After each call that changes it, drain the session with `nextOutput` and call again when `nextDeadline` comes.
struct PlainRTPSession {
    struct Configuration: Sendable {
        static let payloadType: UInt8 = 96

        var codec: VideoCodec
        /// The encoder's, in bits a second; packets leave at up to five times that.
        var targetBitrate: UInt64 = 2_500_000
        var hasSound = false

        fileprivate var pace: Pacer.Pace { .video(targetBitrate: targetBitrate) }
    }

    /// Bytes of an RTP packet with its header.
    private static let maximumPacketSize = 1200
    /// Bytes of the header extension of the colour space.
    private static let extensionSize = 12
    /// The most packets that wait, or can be sent again: room for a keyframe of 4 MB.
    private static let capacity = 4096

    private(set) var configuration: Configuration
    private let history: PacketHistory
    private var bundle: StreamBundle
    private var keyframeRequests = KeyframeRequests()
    private var listener: ListenerWatch
    private var work = WorkBudget(sendsVideo: false)
    private var counted = PlainRTPStatistics()
    private var hasEnded = false

    /// - Parameters:
    ///   - clock: the capture clock and the wall clock at one instant; sender reports tie them together.
    ///   - isMulticast: whether several receivers may report, each of a link of its own.
    ///   - refusalsAreLimited: false if the receiver is on the loopback, where no refusal is lost.
    init(
        _ configuration: Configuration,
        clock: ClockReading,
        isMulticast: Bool = false,
        refusalsAreLimited: Bool = true,
        using random: inout some RandomNumberGenerator
    ) {
        self.configuration = configuration
        history = PacketHistory(
            codec: configuration.codec,
            maximumPayloadSize: Self.maximumPacketSize - RTPHeader.size - Self.extensionSize,
            capacity: Self.capacity,
            using: &random
        )
        var parameters = OutgoingStream.Parameters(
            payloadType: Configuration.payloadType,
            retransmissionPayloadType: nil
        )
        parameters.extensions.colourSpace = Configuration.colourSpace
        bundle = StreamBundle(
            [(parameters, history)],
            pace: configuration.pace,
            judgesReach: false,
            audience: isMulticast ? .multicast : .one,
            clock: clock,
            using: &random
        )
        listener = ListenerWatch(refusalsAreLimited: refusalsAreLimited)
    }

    private var stream: OutgoingStream { bundle.streams[0] }

    var ssrc: UInt32 { stream.ssrc }
    var canonicalName: String { bundle.canonicalName }

    /// Takes one encoded frame, unless the session has ended.
    mutating func send(_ bytes: [UInt8], _ frame: EncodedFrame, now: Instant) {
        if hasEnded { return }
        history.append(
            frame: bytes,
            isKeyframe: frame.isKeyframe,
            dimensions: frame.dimensions,
            capturedAt: frame.capturedAt,
            captureTime: frame.captureTime,
            now: now
        )
        counted.frames += 1
        if frame.isKeyframe { keyframeRequests.keyframeSent(at: now) }
    }

    /// Drops the frames of pictures from before an instant, which must not be seen any more. A receiver that misses one of them needs a
    /// keyframe.
    ///
    /// - Parameter isCut: whether packets that `nextOutput` has given are dropped.
    mutating func forget(takenBefore instant: Instant, isCut: Bool) {
        let isMissed = isCut || stream.waitingSize > 0
        if history.forget(takenBefore: instant), isMissed { keyframeRequests.request() }
    }

    /// Takes an RTCP datagram from the receiver, unless there are too many. A malformed one is counted and has no effect.
    mutating func receive(rtcp datagram: [UInt8], now: Instant) {
        guard work.take(datagramOf: datagram.count, at: now) else { return }
        guard let packets = try? RTCPPacket.parse(datagram, takesTransportFeedback: false) else {
            counted.malformedFeedback += 1
            return
        }
        let before = stream.statistics.keyframeRequests
        for packet in packets { bundle.receive(packet, now: now) }
        if listener.heard() || stream.statistics.keyframeRequests > before { keyframeRequests.request() }
    }

    /// The receiver's host refused a datagram: no program listens on the port.
    mutating func refused(now: Instant) { listener.refused(at: now) }

    /// False while the receiver's host refuses packets.
    var receiverListening: Bool { listener.isListening }

    mutating func packetFailed() { counted.packetsFailed += 1 }

    /// The earliest time for a requested keyframe; nil without a request. May lie in the past.
    var keyframeAt: Instant? { keyframeRequests.nextDeadline }

    mutating func requestKeyframe() { keyframeRequests.request() }

    /// Appends the datagrams that may be sent at `now` to the RTP port and to the RTCP port. An empty one is a probe.
    mutating func nextOutput(now: Instant, rtp: inout DatagramBatch, rtcp: inout DatagramBatch) {
        let before = rtp.count
        while !hasEnded, rtp.append({ bundle.writeNext(at: now, to: &$0) }) {}
        switch listener.poll(at: now) {
        case .probe where rtp.count == before: rtp.append([])
        case .appeared: keyframeRequests.request()
        case .probe, nil: break
        }
        if rtp.count > before { listener.sent(at: now) }
        if !hasEnded { rtcp.append { bundle.writeReport(at: now, to: &$0) } }
    }

    /// When `nextOutput` must be called at the latest; nil while there is nothing to wait for. May lie in the past.
    var nextDeadline: Instant? { hasEnded ? nil : earliest(bundle.nextDeadline, listener.nextDeadline) }

    /// How long until the last waiting packet has left.
    func backlog(at now: Instant) -> Duration { bundle.backlog(at: now) }

    /// The link's capacity by the receiver's reports, in bits a second; nil while they show no limit.
    var linkRate: Double? { bundle.linkRate }

    /// Changes the encoder's target, in bits a second, and the pace with it.
    mutating func setTargetBitrate(_ bitrate: UInt64) {
        configuration.targetBitrate = bitrate
        bundle.setPace(configuration.pace)
    }

    /// Ends the stream: drops the packets that wait, and appends the goodbye unless the stream has never sent.
    mutating func end(now: Instant, rtcp: inout DatagramBatch) {
        if hasEnded { return }
        hasEnded = true
        rtcp.append { bundle.writeGoodbye(at: now, to: &$0) }
    }

    var statistics: PlainRTPStatistics {
        let sent = stream.statistics
        var statistics = counted
        statistics.packets = sent.packets
        statistics.bytes = sent.bytes + sent.packets * UInt64(RTPHeader.size)
        statistics.keyframeRequests = keyframeRequests.count
        statistics.receiverListening = receiverListening
        statistics.lossFraction = sent.lossFraction
        statistics.jitter = sent.jitter
        statistics.roundTripTime = bundle.roundTripTime
        return statistics
    }
}
