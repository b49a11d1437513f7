/// One viewer's stream: its own numbers, clock offset and pace over packets that all viewers share.
///
/// After each call that changes it, or when the history has grown, write packets with `writeNext` until it returns
/// false, and call again when `nextDeadline` comes. Instants are nanoseconds of the capture clock.
package struct VideoSender: Sendable {
    /// Where in the history the viewer is.
    private enum Position {
        /// It can only begin, or go on, with a keyframe that was appended at `since` or later.
        case awaitingKeyframe(since: UInt64)
        /// The packet that goes out next.
        case at(UInt64)
    }

    /// Bytes of an RTP packet beside the part of the payload that is in the history.
    package static let overhead = RTPHeader.size + HeaderExtensionValues.maximumSize + 2
    /// A keyframe this old still begins a stream: what came after it is sent in a burst.
    private static let keyframeLifetime: UInt64 = 400_000_000
    /// A viewer whose packets have waited this long goes on with a newer keyframe, if there is one. It does not ask for
    /// one: what made it late would make that late too.
    private static let longestDelay: UInt64 = 500_000_000

    private var parameters: Parameters
    private let clock: ClockReading
    private let canonicalName: String
    private var stream: RTPStream
    private var retransmissionStream: RTPStream?
    private var pacer: Pacer
    private var position: Position
    /// Added to a packet's number, modulo 65536, it gives its sequence number.
    private var sequenceOffset: UInt16
    /// The first packet for which `sequenceOffset` holds.
    private var sequenceStart: UInt64 = 0
    private var retransmissions: Retransmissions
    private var reports: ReportSchedule
    private var commands = FullIntraCommands()
    private var reachability = Reachability()
    private var keyframeNeed = KeyframeNeed()
    /// The packet after the newest that was sent, and when its picture was captured, on the RTP clock.
    private var sentEnd: UInt64 = 0
    private var sentTicks: UInt64 = 0
    /// The first packet that goes without the mid, which the viewer has learnt.
    private var midEnd = UInt64.max
    package private(set) var statistics = VideoSenderStatistics()

    package init(
        _ parameters: Parameters,
        pace: Pacer.Pace,
        clock: ClockReading,
        using random: inout some RandomNumberGenerator
    ) {
        self.parameters = parameters
        self.clock = clock
        canonicalName = randomCanonicalName(using: &random)
        let stream = RTPStream(payloadType: parameters.payloadType, using: &random)
        self.stream = stream
        sequenceOffset = stream.nextSequenceNumber
        retransmissionStream = parameters.retransmissionPayloadType.map { payloadType in
            RTPStream(
                ssrc: stream.ssrc &+ .random(in: 1 ... .max, using: &random),
                payloadType: payloadType,
                sequenceNumber: RTPStream.firstSequenceNumber(using: &random),
                timestampOffset: stream.timestampOffset
            )
        }
        pacer = Pacer(pace: pace)
        retransmissions = Retransmissions(pace: pace)
        reports = ReportSchedule(seed: random.next())
        position = .awaitingKeyframe(since: 0)
    }

    package var ssrc: UInt32 { stream.ssrc }
    package var retransmissionSSRC: UInt32? { retransmissionStream?.ssrc }
    package var name: String { canonicalName }

    // MARK: - Out

    /// Appends the next RTP packet that may leave at `now`. Returns false if there is none.
    package mutating func writeNext(at now: UInt64, from history: borrowing PacketHistory, to bytes: inout [UInt8])
        -> Bool
    {
        catchUp(with: history, at: now)
        if let index = retransmissions.next(in: history) {
            let size = packetSize(history[index]) + 2
            guard pacer.earliest(forPacketOf: size) <= now else { return false }
            retransmissions.noteSent(index, at: now)
            pacer.note(packetOf: size, at: now)
            statistics.retransmissions += 1
            writeRetransmission(of: history[index], index, to: &bytes)
            return true
        }
        guard case .at(let index) = position, index < history.end else { return false }
        let size = packetSize(history[index])
        guard pacer.earliest(forPacketOf: size) <= now else { return false }
        pacer.note(packetOf: size, at: now)
        write(history[index], index, to: &bytes)
        if index == history.keyframe?.index { keyframeNeed.beginKeyframe() }
        if history[index].isLast { keyframeNeed.endFrame(at: now, roundTripTime: statistics.roundTripTime) }
        position = .at(index + 1)
        return true
    }

    /// When `writeNext` or `writeReport` has something to write, a keyframe may be asked for, or the viewer is lost; nil
    /// while there is nothing to wait for. May lie in the past.
    package func nextDeadline(_ history: borrowing PacketHistory) -> UInt64? {
        var packet: UInt64?
        if let index = retransmissions.next(in: history) {
            packet = pacer.earliest(forPacketOf: packetSize(history[index]) + 2)
        } else if case .at(let index) = position, history.contains(index) {
            packet = pacer.earliest(forPacketOf: packetSize(history[index]))
        }
        let report = stream.packetCount > 0 ? reports.nextDeadline : nil
        return earliest(packet, report, keyframeNeed.deadline, reachability.deadline)
    }

    /// Appends a sender report with the stream's name if one is due (RFC 3550 §6.1). Returns whether it was.
    package mutating func writeReport(at now: UInt64, to bytes: inout [UInt8]) -> Bool {
        guard stream.packetCount > 0, now >= reports.nextDeadline else { return false }
        appendReport(at: now, to: &bytes)
        reports.reportSent(at: now)
        return true
    }

    /// Appends the goodbye, which a stream that never sent does not say. Returns whether it was said.
    package mutating func writeGoodbye(at now: UInt64, to bytes: inout [UInt8]) -> Bool {
        guard stream.packetCount > 0 else { return false }
        appendReport(at: now, to: &bytes)
        Goodbye(ssrcs: [ssrc] + [retransmissionSSRC].compactMap { $0 }).write(to: &bytes)
        return true
    }

    /// Whether the viewer needs a keyframe that is yet to come. The answer is given once.
    package mutating func takeKeyframeRequest(at now: UInt64) -> Bool { keyframeNeed.take(at: now) }

    /// A packet that was written does not reach the viewer.
    package mutating func notePacketDropped() { keyframeNeed.ariseAnew() }

    /// Whether the viewer is out of reach: its regular reports have stopped, or tell that nothing arrives.
    package func isLost(at now: UInt64) -> Bool { reachability.isLost(at: now) }

    /// Goes on with another codec, whose packets are in the history that is given from now on.
    ///
    /// - Parameter parameters: what was negotiated for that codec.
    package mutating func change(to parameters: Parameters) {
        if case .at(let index) = position { stream.skip(to: sequenceNumber(of: index)) }
        self.parameters = parameters
        stream.payloadType = parameters.payloadType
        // Streams of retransmissions are announced once.
        if let payloadType = parameters.retransmissionPayloadType {
            retransmissionStream?.payloadType = payloadType
        } else {
            retransmissionStream = nil
        }
        retransmissions.removeAll()
        position = .awaitingKeyframe(since: 0)
        // The one that is there may be too old once a packet can be sent.
        keyframeNeed.ariseAnew()
    }

    /// Follows another bitrate of the encoder.
    package mutating func setPace(_ pace: Pacer.Pace) {
        pacer.pace = pace
        retransmissions.setPace(pace)
    }

    /// Whether a viewer that comes now can begin with a keyframe that is there.
    package func canBegin(with history: borrowing PacketHistory, at now: UInt64) -> Bool {
        firstKeyframe(in: history, since: now.subtracting(clamped: Self.keyframeLifetime)) != nil
    }

    // MARK: - In

    /// Takes what the viewer says of the stream.
    package mutating func receive(_ packet: RTCPPacket, now: UInt64) {
        reachability.noteFeedback(now: now)
        switch packet {
        case .senderReport(let report): note(report.reports, now: now)
        case .receiverReport(let report): note(report.reports, now: now)
        case .pictureLoss(let loss) where loss.media == ssrc:
            statistics.keyframeRequests += 1
            keyframeNeed.notePictureLoss(at: now)
        case .fullIntra(let request):
            for command in request.commands where command.ssrc == ssrc {
                if commands.take(command.sequenceNumber, from: request.sender) {
                    statistics.keyframeRequests += 1
                    keyframeNeed.arise()
                }
            }
        case .genericNACK(let nack) where nack.media == ssrc:
            statistics.nacks += 1
            for sequenceNumber in nack.lost.prefix(Retransmissions.limit) { noteLost(sequenceNumber, now: now) }
        default: break
        }
    }

    private mutating func note(_ blocks: [ReportBlock], now: UInt64) {
        let block = blocks.last { $0.ssrc == ssrc }
        reachability.noteReport(
            highest: block?.highestSequenceNumber,
            packetsSent: statistics.packets,
            now: now
        )
        guard let block else { return }
        // Who can ask for nothing is mended unasked.
        if !parameters.canAskForRepair, block.cumulativeLost > statistics.packetsLost ?? 0 { keyframeNeed.arise() }
        midEnd = min(midEnd, sentEnd)
        statistics.lossFraction = Double(block.fractionLost) / 256
        statistics.packetsLost = block.cumulativeLost
        if let trip = block.roundTripTime(arrivedAt: clock.ntpTime(at: now)) { statistics.roundTripTime = trip }
    }

    /// A packet that was sent a round trip ago or less may still be on its way, and is not sent again.
    private mutating func noteLost(_ sequenceNumber: UInt16, now: UInt64) {
        guard case .at(let next) = position else { return }
        let distance = UInt64(UInt16(truncatingIfNeeded: next &- 1) &+ sequenceOffset &- sequenceNumber)
        guard distance < 0x8000, next > sequenceStart, distance < next - sequenceStart else { return }
        retransmissions.request(next - 1 - distance, roundTripTime: statistics.roundTripTime, now: now)
    }

    // MARK: - Position

    /// Goes to where the viewer can go on, if it must wait for a keyframe or lags too far behind.
    private mutating func catchUp(with history: borrowing PacketHistory, at now: UInt64) {
        retransmissions.forget(before: history.start)
        switch position {
        case .awaitingKeyframe(let since):
            let earliest = max(since, now.subtracting(clamped: Self.keyframeLifetime))
            if let index = firstKeyframe(in: history, since: earliest) { go(to: index, in: history) }
        case .at(let index):
            guard index < history.end else { return }
            let isGone = !history.contains(index)
            if let keyframe = history.keyframe, keyframe.index > index, history.contains(keyframe.index),
                isGone || history[index].appendedAt.adding(clamped: Self.longestDelay) < now
            {
                statistics.skips += 1
                go(to: keyframe.index, in: history)
            } else if isGone {
                statistics.skips += 1
                stream.skip(to: sequenceNumber(of: index))
                position = .awaitingKeyframe(since: now)
                keyframeNeed.ariseAnew()
            }
        }
    }

    private func firstKeyframe(in history: borrowing PacketHistory, since earliest: UInt64) -> UInt64? {
        guard let keyframe = history.keyframe, keyframe.appendedAt >= earliest, history.contains(keyframe.index) else {
            return nil
        }
        return keyframe.index
    }

    /// Sequence numbers go on without a gap: what a viewer was not sent, it did not lose.
    private mutating func go(to index: UInt64, in history: borrowing PacketHistory) {
        if case .at(let old) = position { stream.skip(to: sequenceNumber(of: old)) }
        sequenceOffset = stream.nextSequenceNumber &- UInt16(truncatingIfNeeded: index)
        sequenceStart = index
        // Another codec's pictures may show an earlier instant, and none may have the timestamp of one before.
        if stream.packetCount > 0, history[index].ticks <= sentTicks {
            stream.delay(byTicks: sentTicks + 1 - history[index].ticks)
        }
        retransmissions.removeAll()
        keyframeNeed.beginKeyframe()
        position = .at(index)
    }

    private func sequenceNumber(of index: UInt64) -> UInt16 { UInt16(truncatingIfNeeded: index) &+ sequenceOffset }

    // MARK: - Packets

    private func packetSize(_ packet: borrowing PacketHistory.Packet) -> Int {
        packet.payload.count + RTPHeader.size + HeaderExtensionValues.maximumSize / 2
    }

    private mutating func write(_ packet: PacketHistory.Packet, _ index: UInt64, to bytes: inout [UInt8]) {
        let header = stream.header(
            sequenceNumber: sequenceNumber(of: index),
            ticks: packet.ticks,
            marker: packet.isLast
        )
        append(header, of: packet, index, to: &bytes)
        bytes.append(contentsOf: packet.payload)
        sentEnd = index + 1
        sentTicks = packet.ticks
        stream.notePacketSent(payloadSize: packet.payload.count)
        statistics.packets += 1
        statistics.bytes += UInt64(packet.payload.count)
        if packet.isLast { statistics.frames += 1 }
    }

    /// RFC 4588 §4: in a stream of its own, the payload begins with the original sequence number. Without one the packet
    /// is the same byte for byte: two that differ under one sequence number would give away a key of AES-GCM.
    private mutating func writeRetransmission(of packet: PacketHistory.Packet, _ index: UInt64, to bytes: inout [UInt8])
    {
        let original = sequenceNumber(of: index)
        guard retransmissionStream != nil else {
            append(
                stream.header(sequenceNumber: original, ticks: packet.ticks, marker: packet.isLast),
                of: packet,
                index,
                to: &bytes
            )
            bytes.append(contentsOf: packet.payload)
            return
        }
        let timestamp = stream.timestampOffset &+ UInt32(truncatingIfNeeded: packet.ticks)
        let header = retransmissionStream!.nextHeader(timestamp: timestamp, marker: packet.isLast)
        append(header, of: packet, index, to: &bytes)
        bytes.append(bigEndian: original)
        bytes.append(contentsOf: packet.payload)
        retransmissionStream!.notePacketSent(payloadSize: packet.payload.count + 2)
    }

    private func append(
        _ header: RTPHeader,
        of packet: PacketHistory.Packet,
        _ index: UInt64,
        to bytes: inout [UInt8]
    ) {
        let start = bytes.count
        header.write(to: &bytes)
        let values = HeaderExtensionValues(
            mid: index < midEnd ? parameters.mid : nil,
            asksForImmediatePlayout: packet.isFirst,
            captureTime: packet.isFirst ? clock.ntpTime(at: packet.capturedAt) : nil,
            dependency: DependencyDescriptor(
                isFirst: packet.isFirst,
                isLast: packet.isLast,
                frameNumber: packet.frameNumber,
                isKeyframe: packet.keyframe != nil,
                structure: packet.isFirst ? packet.keyframe : nil
            )
        )
        if values.write(parameters.extensions, to: &bytes) { bytes[start] |= 0x10 }
    }

    private mutating func appendReport(at now: UInt64, to bytes: inout [UInt8]) {
        stream.senderReport(at: now, clock: clock).write(to: &bytes)
        SourceDescription(ssrc: ssrc, canonicalName: canonicalName).write(to: &bytes)
    }
}
