package import Time

/// All streams to one peer, with their common state: one name, one schedule of reports, one pace, one round trip time,
/// and one judgement of reachability.
///
/// After each call that changes it, or when a history has grown, write packets with `writeNext` until it returns false.
/// Call again when `nextDeadline` comes.
package struct StreamBundle {
    /// The most streams: one datagram must hold a report and a goodbye on all of them.
    package static let limit = 15

    /// The streams in the order of the session description, each with its own mid.
    package private(set) var streams: [OutgoingStream] = []
    package let canonicalName: String
    /// Nil before a report shows it.
    package private(set) var roundTripTime: Duration?
    private let clock: ClockReading
    /// Estimates the link by transport-wide feedback; nil without transport-wide numbers.
    package private(set) var estimator: BandwidthEstimator?
    /// Estimates the link by REMB and reports, if there is no estimator. Nil for a multicast group, whose reports cover
    /// many links.
    private var reported: ReportedRate?
    /// The pace of all streams together if the link sets no limit.
    private var fullPace: Pacer.Pace
    private var probe: BandwidthEstimator.Probe?
    private var tail = TailProbe()
    private var outlived = OutlivedFrames()
    /// Whether a packet waited when the last one left.
    private var hasWaiting = false
    private var pacer: Pacer
    private var repairBudget: Pacer
    private var reports: ReportSchedule
    /// Nil if the peer need not report.
    private var reachability: Reachability?
    /// The stream whose packet goes first if several video streams wait.
    private var turn = 0

    /// - Parameters:
    ///   - streams: the negotiated parameters of each, and its packets; 1…`limit`.
    ///   - name: the canonical name, if they belong to the streams of another bundle.
    ///   - pace: the fastest pace of all streams together. The peer's feedback on the link slows it down.
    ///   - judgesReach: whether a peer that falls silent is lost.
    ///   - audience: the viewers behind the peer.
    ///   - opensSpeakers: whether the first packet of sound, which is live, makes the peer open its speakers.
    ///   - clock: the capture clock and the wall clock at one instant. Reports tie them together.
    package init(
        _ streams: [(parameters: OutgoingStream.Parameters, history: PacketHistory)],
        name: String? = nil,
        pace: Pacer.Pace,
        judgesReach: Bool = true,
        audience: Audience = .one,
        opensSpeakers: Bool = false,
        clock: ClockReading,
        using random: inout some RandomNumberGenerator
    ) {
        precondition(1...Self.limit ~= streams.count)
        // RFC 7022 §4.2: 96 bits.
        canonicalName = name ?? randomName(digits: 24, using: &random)
        for (parameters, history) in streams {
            var stream: OutgoingStream
            repeat {
                stream = OutgoingStream(parameters, from: history, for: audience, opensSpeakers, using: &random)
            } while self.streams.contains { !Set($0.sources).isDisjoint(with: stream.sources) }
            self.streams.append(stream)
        }
        self.clock = clock
        fullPace = pace
        pacer = Pacer(pace: pace)
        repairBudget = Pacer(pace: Retransmissions.budget(of: pace))
        reports = ReportSchedule(seed: random.next())
        if judgesReach { reachability = Reachability(streamCount: streams.count) }
        if streams.contains(where: { $0.parameters.extensions.transportNumber != nil }) {
            // The first packets show whether the link carries it.
            estimator = BandwidthEstimator(start: Double(pace.rate), ceiling: Double(pace.rate))
            probe = estimator?.firstProbe
            followEstimate()
        } else if audience != .multicast {
            reported = ReportedRate()
        }
    }

    /// The stream of a media description; nil if there is none.
    package subscript(mid: String) -> OutgoingStream? { streams.first { $0.mid == mid } }

    /// The rate that the link carries, in bits a second; nil while unknown.
    package var linkRate: Double? {
        guard let estimator else { return reported?.rate.map { min($0, Double(fullPace.rate)) } }
        return estimator.isMeasured ? estimator.estimate : nil
    }

    // MARK: - Output

    /// Appends the next RTP packet that may leave at `now`. Returns false if there is none.
    ///
    /// Sound leaves at once: it is small, and soon too late. Video gives up the rate that sound takes. Video streams
    /// take turns, a packet each. Within a stream, lost packets go before new ones.
    package mutating func writeNext(at now: Instant, to bytes: inout [UInt8]) -> Bool {
        for index in streams.indices { streams[index].catchUp(at: now) }
        repeatTail(at: now)
        let sound = sound
        guard let (index, size) = sound ?? paced ?? padding else { return false }
        if sound == nil {
            if estimator?.roomAt(now) != nil {
                // The next packet waits for feedback on others, so it begins another train.
                hasWaiting = false
                return false
            }
            guard pacer.earliest(forPacketOf: size) <= now else { return false }
        }
        let start = bytes.count
        let isNumbered = streams[index].parameters.extensions.transportNumber != nil
        let number = isNumbered ? estimator?.nextNumber : nil
        if sound == nil, paced == nil {
            streams[index].writePadding(transportNumber: number, to: &bytes)
        } else {
            let sent = streams[index].writeNext(at: now, roundTripTime, clock, transportNumber: number, to: &bytes)
            if sound == nil { turn = (index + 1) % streams.count }
            if isNumbered, let sent, let estimator, estimator.lastArrived != nil {
                let packet = TailProbe.Packet(number: estimator.packetsSent, stream: index, index: sent)
                tail.noteSent(packet, timeout: estimator.probeTimeout, at: now)
            }
        }
        pacer.note(packetOf: size, at: now)
        reports.packetSent(at: now)
        if isNumbered { noteSent(bytes.count - start, at: now) }
        return true
    }

    /// The path to the peer has changed, so the estimate of the link no longer holds. Packets on the old path are lost,
    /// and the peer may not be able to report that yet. So it needs keyframes.
    package mutating func linkChanged(at now: Instant) {
        estimator?.changeLink()
        outlived = OutlivedFrames()
        (probe, hasWaiting) = (estimator?.firstProbe, false)
        if reported != nil { reported = ReportedRate() }
        roundTripTime = nil
        tail.retry(at: now)
        followEstimate()
        notePacketsDropped()
    }

    /// Sends the last packet again if no feedback comes for long.
    private mutating func repeatTail(at now: Instant) {
        guard paced == nil, let estimator, let packet = tail.takeCopy(timeout: estimator.probeTimeout, at: now) else {
            return
        }
        streams[packet.stream].repeatPacket(packet.index)
        if paced == nil { tail.forget(stream: packet.stream) }
    }

    private mutating func noteSent(_ size: Int, at now: Instant) {
        guard estimator != nil else { return }
        estimator?.noteSent(size: size, followsAtOnce: hasWaiting, at: now)
        let rest = probe?.after(packetOf: size)
        // Only while there is something to send, so that silence costs nothing.
        let wanted = wantedRate(at: now)
        let first = probe == nil ? estimator?.takeProbe(for: wanted, at: now) : nil
        // A packet at another rate begins another train.
        hasWaiting = (paced != nil || rest != nil) && first == nil && (rest == nil) == (probe == nil)
        probe = rest ?? first
        followEstimate()
    }

    /// The rate of the bundle on a link without limit, in bits a second: the encoder's target with headers and repair,
    /// or infinity while more than 100 ms of pictures wait.
    private func wantedRate(at now: Instant) -> Double {
        backlog(at: now) > .milliseconds(100) ? .infinity : 1.3 * Double(fullPace.rate / Pacer.Pace.lead)
    }

    private mutating func followEstimate() {
        guard let estimator else { return followReports() }
        // Packets that leave all at once measure nothing. But a thread that wakes late must still keep the rate.
        let burst = Duration.milliseconds(estimator.isMeasured && probe == nil ? 15 : 3)
        let pace = Pacer.Pace.steady(rate: probe?.rate ?? estimator.pace, burst: burst)
        if pace != pacer.pace { pacer.pace = pace }
        repairBudget.pace.rate = UInt64(max(estimator.estimate / 2, 1))
    }

    private mutating func followReports() {
        let pace = linkRate.map { .steady(rate: 1.15 * $0, burst: .milliseconds(15)) } ?? fullPace
        if pace == pacer.pace { return }
        pacer.pace = pace
        repairBudget.pace = Retransmissions.budget(of: pace)
    }

    /// The stream that carries padding, and the size of its packets; nil while the link is not probed.
    private var padding: (index: Int, size: Int)? {
        guard probe != nil, let estimator, estimator.packetsSent > 0,
            let index = streams.firstIndex(where: \.canPad)
        else { return nil }
        return (index, OutgoingStream.paddingSize)
    }

    /// The stream of sound whose packet is next, and that packet's size in bytes.
    private var sound: (index: Int, size: Int)? {
        for index in streams.indices where !streams[index].isVideo {
            if let size = streams[index].nextPacketSize() { return (index, size) }
        }
        return nil
    }

    /// The stream whose packet is next among those that keep to the pace, and that packet's size in bytes.
    private var paced: (index: Int, size: Int)? {
        for distance in streams.indices {
            let index = (turn + distance) % streams.count
            if streams[index].isVideo, let size = streams[index].nextPacketSize() { return (index, size) }
        }
        return nil
    }

    /// When `writeNext` or `writeReport` has something to write, a keyframe may be asked for, or the peer is lost; nil
    /// while nothing is due. May lie in the past.
    ///
    /// A single video stream waits for three quarters of a burst, if that much waits: waking up for each packet would
    /// cost more than sending it, and the last one would leave no earlier. Several streams do not wait for each other's
    /// bursts.
    package var nextDeadline: Instant? {
        if sound != nil { return .start }
        let packet = (paced ?? padding).map { next in
            let isAlone = streams.count { $0.isVideo } == 1
            let burst = isAlone ? min(streams[next.index].waitingSize, pacer.pace.burst * 3 / 4) : 0
            let earliest = pacer.earliest(forPacketOf: max(next.size, burst))
            return max(earliest, estimator?.roomAt(earliest) ?? earliest)
        }
        let tail = packet == nil ? tail.deadline : nil
        let keyframe = streams.lazy.compactMap { $0.keyframeNeed?.deadline }.min()
        return earliest(packet ?? tail, reports.nextDeadline, keyframe, reachability?.deadline)
    }

    /// How long until the last of the pictures that wait may leave.
    package func backlog(at now: Instant) -> Duration {
        let size = streams.reduce(0) { $1.isVideo ? $0 + $1.waitingSize : $0 }
        return size == 0 ? .zero : pacer.delay(of: size, at: now)
    }

    /// Appends one report on all streams that have sent, with their name, if it is due (RFC 3550 §6.1). Returns whether
    /// it was.
    package mutating func writeReport(at now: Instant, to bytes: inout [UInt8]) -> Bool {
        guard reports.isDue(at: now) else { return false }
        appendReport(at: now, to: &bytes)
        reports.reportSent(at: now)
        return true
    }

    /// Appends a report and the goodbye, unless the bundle has never sent. Returns whether it has.
    package func writeGoodbye(at now: Instant, to bytes: inout [UInt8]) -> Bool {
        guard streams.contains(where: { $0.hasSent }) else { return false }
        appendReport(at: now, to: &bytes)
        RTCPPacket.write(goodbyeOf: streams.flatMap(\.sources), to: &bytes)
        return true
    }

    private func appendReport(at now: Instant, to bytes: inout [UInt8]) {
        let streams = streams.filter(\.hasSent)
        for stream in streams { stream.report(at: now, clock: clock).write(to: &bytes) }
        RTCPPacket.write(canonicalName: canonicalName, of: streams.map(\.ssrc), to: &bytes)
    }

    /// Whether the peer needs a new keyframe of a stream. True comes once for a request.
    package mutating func takeKeyframeRequest(of mid: String, at now: Instant) -> Bool {
        guard let index = index(of: mid) else { return false }
        return streams[index].keyframeNeed?.takeRequest(at: now) ?? false
    }

    /// Written packets were dropped before they left, so all streams need keyframes.
    package mutating func notePacketsDropped() {
        for index in streams.indices { streams[index].keyframeNeed?.ariseAnew() }
    }

    /// When the peer last sent feedback; nil if it has not, or need not.
    package var heardAt: Instant? { reachability?.heardAt }

    /// Whether the peer is out of reach: its regular reports have stopped, or show no arrivals.
    package func isLost(at now: Instant) -> Bool { reachability?.isLost(at: now) ?? false }

    /// This machine was suspended, and its clock stood still meanwhile.
    package mutating func slept(for time: Duration, now: Instant) { reachability?.slept(for: time, now: now) }

    /// Goes on with another codec of the same clock in one stream.
    ///
    /// - Parameters:
    ///   - parameters: the negotiated parameters of that codec. Their mid names the stream.
    ///   - history: its packets.
    package mutating func change(to parameters: OutgoingStream.Parameters, from history: PacketHistory) {
        guard let index = index(of: parameters.mid) else { return }
        streams[index].change(to: parameters, from: history)
        tail.forget(stream: index)
    }

    /// Keeps only the streams of an offer that the peer has accepted. Nothing of them has been sent yet.
    ///
    /// - Parameter accepted: the negotiated parameters of each, and its packets; never empty.
    package mutating func keep(_ accepted: [(parameters: OutgoingStream.Parameters, history: PacketHistory)]) {
        precondition(!accepted.isEmpty)
        streams.removeAll { stream in !accepted.contains { $0.parameters.mid == stream.mid } }
        for (parameters, history) in accepted { change(to: parameters, from: history) }
        reachability = reachability.map { _ in Reachability(streamCount: streams.count) }
        turn = 0
    }

    private func index(of mid: String) -> Int? { streams.firstIndex { $0.mid == mid } }

    /// Sets the pace of all streams together, and with it that of retransmissions.
    package mutating func setPace(_ pace: Pacer.Pace) {
        pacer.pace = pace
        repairBudget.pace = Retransmissions.budget(of: pace)
        fullPace = pace
        estimator?.setCeiling(Double(pace.rate))
        followEstimate()
    }

    /// Leaves out the next sound: the peer's buffer holds that much too much. Sequence numbers have no gap, so the peer
    /// counts no loss.
    package mutating func skipSound(_ length: Duration, at now: Instant) {
        for index in streams.indices { streams[index].skip(length, at: now) }
    }

    // MARK: - Input

    package mutating func receive(_ packet: RTCPPacket, now: Instant) {
        reachability?.noteFeedback(now: now)
        switch packet {
        case .senderReport(let report): noteReports(report.reports, of: report.ssrc, now: now)
        case .receiverReport(let report): noteReports(report.reports, of: report.ssrc, now: now)
        case .transportFeedback(let feedback):
            let before = estimator?.lastArrived
            estimator?.receive(feedback, now: now)
            if let estimator, let arrived = estimator.lastArrived, arrived != before {
                tail.noteArrival(of: arrived, timeout: estimator.probeTimeout, now: now)
            }
            giveUpOutlived(at: now)
            followEstimate()
        case .maximumBitrate(let bitrate):
            reported?.receive(cap: bitrate)
            followEstimate()
        default:
            for index in streams.indices {
                streams[index].receive(packet, roundTripTime: roundTripTime, budget: &repairBudget, now: now)
            }
        }
    }

    /// Gives up the pictures that take too long over a link that has become slow.
    private mutating func giveUpOutlived(at now: Instant) {
        guard let estimator, estimator.isMeasured else { return }
        var (waiting, sentShare) = (0, 1.0)
        for index in streams.indices where streams[index].isVideo {
            waiting += streams[index].waitingSize
            sentShare = min(sentShare, streams[index].sentShare)
        }
        let isOutlived = outlived.judge(
            waiting: waiting,
            sentShare: sentShare,
            inFlight: estimator.inFlight,
            estimate: estimator.estimate,
            at: now
        )
        guard isOutlived else { return }
        for index in streams.indices where streams[index].isVideo {
            streams[index].giveUp(at: now)
            tail.forget(stream: index)
        }
    }

    private mutating func noteReports(_ blocks: [ReportBlock], of reporter: UInt32, now: Instant) {
        reachability?.noteReport(now: now)
        // The first video stream speaks for the link.
        let telling = streams.firstIndex(where: \.isVideo) ?? 0
        for index in streams.indices {
            let ssrc = streams[index].ssrc
            guard let block = blocks.last(where: { $0.ssrc == ssrc }) else { continue }
            streams[index].receive(block)
            reachability?.noteArrival(
                in: ssrc,
                highest: block.highestSequenceNumber,
                packetsSent: streams[index].statistics.packets,
                now: now
            )
            let trip = block.roundTripTime(arrivedAt: clock.ntpTime(at: now))
            if let trip { roundTripTime = trip }
            if index != telling { continue }
            let statistics = streams[index].statistics
            reported?.receive(
                block,
                from: reporter,
                packets: statistics.packets,
                bytes: statistics.bytes,
                roundTrip: trip,
                now: now
            )
            if estimator == nil { followReports() }
        }
    }
}
