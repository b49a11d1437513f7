import Media
import Time

/// One stream to one peer. It has numbers of its own, and a place in a history that all peers share. `StreamBundle`
/// holds the common state of all streams to the peer.
package struct OutgoingStream {
    /// Where in the history the stream is.
    private enum Position {
        /// The stream waits for an entry. Unless `since` is nil, the entry must be appended then or later.
        case awaitingEntry(since: Instant?)
        /// Sound packets before this instant are left out. The timestamps of later ones follow without a gap.
        case skipping(until: Instant)
        /// The packet that goes out next.
        case at(UInt64)
    }

    /// Bytes of an RTP packet that are not in the history.
    package static let overhead = RTPHeader.size + HeaderExtensionValues.maximumSize + 2

    package private(set) var parameters: Parameters
    package private(set) var history: PacketHistory
    private var numbers: RTPStream
    private var retransmissionNumbers: RTPStream?
    private var position = Position.awaitingEntry(since: nil)
    /// The packet's sequence number is its number in the history plus this, modulo 65536.
    private var sequenceOffset: UInt16
    /// The first packet for which `sequenceOffset` holds.
    private var sequenceStart: UInt64 = 0
    private var retransmissions = Retransmissions()
    private var commands = FullIntraCommands()
    /// Whether the first packet makes the peer open its speakers.
    private let opensSpeakers: Bool
    /// Nil for sound, which has no keyframes.
    var keyframeNeed: KeyframeNeed?
    /// The number in the history of the packet after the newest that was sent.
    private var sentEnd: UInt64 = 0
    /// `ticks` of the frame of the newest packet that was sent.
    private var sentTicks: UInt64 = 0
    /// The first packet without the mid; nil until the peer has learnt the mid.
    private var midEnd: UInt64?
    package private(set) var statistics = StreamStatistics()

    init(
        _ parameters: Parameters,
        from history: PacketHistory,
        for audience: Audience,
        _ opensSpeakers: Bool,
        using random: inout some RandomNumberGenerator
    ) {
        self.parameters = parameters
        self.history = history
        self.opensSpeakers = history.codec == .opus && opensSpeakers
        let numbers = RTPStream(
            payloadType: parameters.payloadType,
            clockRate: history.codec.clockRate,
            using: &random
        )
        self.numbers = numbers
        sequenceOffset = numbers.nextSequenceNumber
        retransmissionNumbers = parameters.retransmissionPayloadType.map { payloadType in
            RTPStream(
                ssrc: numbers.ssrc &+ .random(in: 1 ... .max, using: &random),
                payloadType: payloadType,
                clockRate: numbers.clockRate,
                sequenceNumber: RTPStream.firstSequenceNumber(using: &random),
                timestampOffset: numbers.timestampOffset
            )
        }
        if isVideo { keyframeNeed = KeyframeNeed(isForMany: audience != .one) }
    }

    package var mid: String { parameters.mid }
    package var ssrc: UInt32 { numbers.ssrc }
    package var retransmissionSSRC: UInt32? { retransmissionNumbers?.ssrc }
    package var sources: [UInt32] { [ssrc] + [retransmissionSSRC].compactMap(\.self) }

    var hasSent: Bool { numbers.packetCount > 0 }
    var isVideo: Bool { history.codec != .opus }

    /// A packet that has waited this long is left out if there is a newer entry. Without one, the stream does not ask
    /// for a keyframe: the cause of the delay would delay that too.
    private var longestDelay: Duration { isVideo ? .milliseconds(500) : .milliseconds(100) }

    /// How long a peer may take to open its speakers. Sound sent meanwhile would pile up in the peer's buffer and delay
    /// all later sound: browsers shorten speech and silence, but not music.
    static let openingTime = Duration.milliseconds(500)

    // MARK: - Output

    /// The approximate size of the next packet, in bytes; nil if there is none.
    func nextPacketSize() -> Int? {
        if let index = retransmissions.next(in: history) { return size(of: history[index]) + 2 }
        guard case .at(let index) = position, history.contains(index) else { return nil }
        return size(of: history[index])
    }

    /// Bytes of encoded frames that wait for their first sending.
    package var waitingSize: Int {
        guard case .at(let index) = position, history.contains(index) else { return 0 }
        return history.size(from: index)
    }

    /// The share of the present frame that has left, 0…1.
    var sentShare: Double {
        guard case .at(let index) = position, history.contains(index) else { return 1 }
        return history[index].sentShare
    }

    /// Leaves out all waiting packets for good. The peer then needs a new keyframe.
    mutating func giveUp(at now: Instant) {
        guard case .at = position else { return }
        statistics.skips += 1
        pause(until: now)
        retransmissions.removeAll()
        keyframeNeed?.ariseAnew()
    }

    /// Appends the next packet, which must exist. Returns its number in the history; nil if it is a repetition.
    ///
    /// - Parameter transportNumber: the packet's number among those of all streams; nil if the peer does not take such
    ///   numbers.
    mutating func writeNext(
        at now: Instant,
        _ roundTripTime: Duration?,
        _ clock: ClockReading,
        transportNumber: UInt16?,
        to bytes: inout [UInt8]
    ) -> UInt64? {
        if let index = retransmissions.next(in: history) {
            retransmissions.noteSent(index, at: now)
            statistics.retransmissions += 1
            writeAgain(index, clock, transportNumber, to: &bytes)
            return nil
        }
        guard case .at(let index) = position else { preconditionFailure("nothing is next") }
        write(index, clock, transportNumber, to: &bytes)
        if index == history.entry?.index { keyframeNeed?.beginKeyframe() }
        if history[index].isLast { keyframeNeed?.endFrame(at: now, roundTripTime: roundTripTime) }
        position = .at(index + 1)
        if opensSpeakers, numbers.packetCount == 1 { pause(until: now + Self.openingTime) }
        return index
    }

    /// The longest skip without a gap in the timestamps.
    ///
    /// At a gap, NetEq conceals until its buffer has reached its target, often with a packet or two more. Without a gap
    /// it plays on, from a smaller buffer. But it then takes later packets for delayed by the length of the skip, and
    /// raises its target for some seconds. The longer the skip, the higher the target.
    static let seamlessSkip = Duration.milliseconds(20)

    /// Leaves out packets of sound: the peer's buffer holds that much too much. Timestamps have no gap up to
    /// `seamlessSkip`.
    ///
    /// - Parameter length: the time from now in which appended packets are left out.
    mutating func skip(_ length: Duration, at now: Instant) {
        guard !isVideo, numbers.packetCount > 0 else { return }
        leaveOut(length <= Self.seamlessSkip ? .skipping(until: now + length) : .awaitingEntry(since: now + length))
    }

    /// Leaves out packets that are appended before an instant.
    private mutating func pause(until instant: Instant) { leaveOut(.awaitingEntry(since: instant)) }

    private mutating func leaveOut(_ awaiting: Position) {
        guard case .at(let index) = position else { return }
        numbers.nextSequenceNumber = sequenceNumber(of: index)
        position = awaiting
    }

    /// Sends a packet once more, if the history still has it.
    mutating func repeatPacket(_ index: UInt64) { if history.contains(index) { retransmissions.add(index) } }

    /// The counts so far, and the capture clock against the wall clock.
    func report(at now: Instant, clock: ClockReading) -> SenderReport { numbers.senderReport(at: now, clock: clock) }

    /// Goes on with another codec of the same clock.
    ///
    /// - Parameters:
    ///   - parameters: the negotiated parameters of that codec.
    ///   - history: its packets.
    mutating func change(to parameters: Parameters, from history: PacketHistory) {
        precondition(history.codec.clockRate == numbers.clockRate)
        if case .at(let index) = position { numbers.nextSequenceNumber = sequenceNumber(of: index) }
        self.parameters = parameters
        self.history = history
        numbers.payloadType = parameters.payloadType
        // A retransmission stream that the session description does not announce cannot begin later.
        if let payloadType = parameters.retransmissionPayloadType {
            retransmissionNumbers?.payloadType = payloadType
        } else {
            retransmissionNumbers = nil
        }
        retransmissions.removeAll()
        position = .awaitingEntry(since: nil)
        // The present entry may be too old by the time a packet can be sent.
        keyframeNeed?.ariseAnew()
    }

    // MARK: - Input

    /// Applies the peer's feedback if it is about this stream.
    mutating func receive(_ packet: RTCPPacket, roundTripTime: Duration?, budget: inout Pacer, now: Instant) {
        switch packet {
        case .pictureLoss(let loss) where loss.media == ssrc:
            statistics.keyframeRequests += 1
            keyframeNeed?.notePictureLoss(at: now)
        case .fullIntra(let request):
            for command in request.commands where command.ssrc == ssrc {
                if commands.insert(command.sequenceNumber, from: request.sender) {
                    statistics.keyframeRequests += 1
                    keyframeNeed?.arise()
                }
            }
        case .genericNACK(let nack) where nack.media == ssrc:
            statistics.nacks += 1
            for sequenceNumber in nack.lost.prefix(Retransmissions.limit) {
                guard let index = sentPacket(sequenceNumber) else { continue }
                retransmissions.request(index, roundTripTime: roundTripTime, budget: &budget, now: now)
            }
        default: break
        }
    }

    mutating func receive(_ block: ReportBlock) {
        // A peer that cannot ask for repair needs a keyframe as soon as its reports show another loss.
        if !parameters.canAskForRepair, block.cumulativeLost > statistics.packetsLost ?? 0 { keyframeNeed?.arise() }
        midEnd = midEnd ?? sentEnd
        statistics.lossFraction = Double(block.fractionLost) / 256
        statistics.packetsLost = block.cumulativeLost
        statistics.jitter = .seconds(block.jitter) / numbers.clockRate
    }

    /// The number in the history of a sent packet.
    private func sentPacket(_ sequenceNumber: UInt16) -> UInt64? {
        guard case .at(let next) = position else { return nil }
        let distance = UInt64(UInt16(truncatingIfNeeded: next &- 1) &+ sequenceOffset &- sequenceNumber)
        guard distance < 0x8000, next > sequenceStart, distance < next - sequenceStart else { return nil }
        return next - 1 - distance
    }

    // MARK: - Position

    /// Goes to an entry of the history, if the stream waits for one or lags too far behind.
    mutating func catchUp(at now: Instant) {
        retransmissions.forget(before: history.start)
        switch position {
        case .awaitingEntry(let since):
            if let index = history.entry(since: since, at: now) { go(to: index) }
        case .skipping(let until):
            guard let index = history.entry(since: until, at: now) else { return }
            let packet = UInt64(EncodedSound.samples), apart = history[index].frame.ticks - sentTicks
            // A silence in between stays.
            let skipped = min(apart - min(apart, packet), (index - sentEnd) * packet)
            numbers.timestampOffset &-= UInt32(truncatingIfNeeded: skipped)
            go(to: index)
        case .at(let index):
            guard index < history.end else { return }
            let isGone = !history.contains(index)
            if let entry = history.entry, entry.index > index, history.contains(entry.index),
                isGone || now - history[index].frame.appendedAt > longestDelay
            {
                statistics.skips += 1
                go(to: entry.index)
            } else if isGone {
                statistics.skips += 1
                pause(until: now)
                keyframeNeed?.ariseAnew()
            }
        }
    }

    /// Goes to an entry. Sequence numbers have no gap, so that the peer counts no loss.
    private mutating func go(to index: UInt64) {
        if case .at(let old) = position { numbers.nextSequenceNumber = sequenceNumber(of: old) }
        sequenceOffset = numbers.nextSequenceNumber &- UInt16(truncatingIfNeeded: index)
        sequenceStart = index
        // The picture of another codec may have been captured earlier, but timestamps must rise.
        if hasSent, history[index].frame.ticks <= sentTicks {
            numbers.timestampOffset &+= UInt32(truncatingIfNeeded: sentTicks + 1 - history[index].frame.ticks)
        }
        retransmissions.removeAll()
        keyframeNeed?.beginKeyframe()
        position = .at(index)
    }

    private func sequenceNumber(of index: UInt64) -> UInt16 { UInt16(truncatingIfNeeded: index) &+ sequenceOffset }

    // MARK: - Packets

    private func size(of packet: borrowing PacketHistory.Packet) -> Int {
        packet.payloadSize + RTPHeader.size + HeaderExtensionValues.maximumSize / 2
    }

    private func header(of index: UInt64) -> RTPHeader {
        // The first sound packet after a silence has the marker (RFC 3551 §4.1).
        let marker = isVideo ? history[index].isLast : history[index].frame.followsSilence
        let ticks = history[index].frame.ticks
        return numbers.header(sequenceNumber: sequenceNumber(of: index), ticks: ticks, marker: marker)
    }

    private mutating func write(_ index: UInt64, _ clock: ClockReading, _ number: UInt16?, to bytes: inout [UInt8]) {
        let packet = history[index]
        append(header(of: index), of: index, clock, number, to: &bytes)
        packet.write(to: &bytes)
        sentEnd = index + 1
        sentTicks = packet.frame.ticks
        numbers.notePacketSent(payloadSize: packet.payloadSize)
        statistics.packets += 1
        statistics.bytes += UInt64(packet.payloadSize)
        if packet.isLast { statistics.frames += 1 }
    }

    /// In a stream of its own, the payload begins with the original sequence number (RFC 4588 §4). Without such a
    /// stream, the packet is repeated byte for byte: two different packets under one sequence number would give away a
    /// key of AES-GCM.
    private mutating func writeAgain(_ index: UInt64, _ clock: ClockReading, _ number: UInt16?, to bytes: inout [UInt8])
    {
        let packet = history[index]
        let original = header(of: index)
        let own = retransmissionNumbers?.nextHeader(timestamp: original.timestamp, marker: original.marker)
        append(own ?? original, of: index, clock, number, to: &bytes)
        if own != nil { bytes.append(bigEndian: original.sequenceNumber) }
        packet.write(to: &bytes)
        retransmissionNumbers?.notePacketSent(payloadSize: packet.payloadSize + 2)
    }

    /// Bytes of a packet of padding, without its header.
    static let paddingSize = 240

    /// Whether padding can be sent. It goes into the retransmission stream, where it disturbs no numbers.
    var canPad: Bool { hasSent && retransmissionNumbers != nil && parameters.extensions.transportNumber != nil }

    /// Appends a packet of padding alone (RFC 3550 §5.1). Receivers count it and throw it away.
    mutating func writePadding(transportNumber: UInt16?, to bytes: inout [UInt8]) {
        let start = bytes.count
        let timestamp = numbers.header(sequenceNumber: 0, ticks: sentTicks, marker: false).timestamp
        guard let header = retransmissionNumbers?.nextHeader(timestamp: timestamp, marker: false) else { return }
        header.write(to: &bytes)
        bytes[start] |= 0x20
        let values = HeaderExtensionValues(transportNumber: transportNumber)
        if values.write(parameters.extensions, to: &bytes) { bytes[start] |= 0x10 }
        bytes.append(contentsOf: repeatElement(0, count: Self.paddingSize - 1))
        bytes.append(UInt8(Self.paddingSize))
        retransmissionNumbers?.notePacketSent(payloadSize: 0)
    }

    /// One sound packet in half a second carries the capture time, and the first one after a silence. The time would be
    /// a tenth of each small packet.
    private func tellsCaptureTime(_ packet: PacketHistory.Packet) -> Bool {
        isVideo ? packet.isFirst : packet.frame.followsSilence || packet.frame.number % 25 == 0
    }

    private func append(
        _ header: RTPHeader,
        of index: UInt64,
        _ clock: ClockReading,
        _ number: UInt16?,
        to bytes: inout [UInt8]
    ) {
        let (start, packet) = (bytes.count, history[index])
        header.write(to: &bytes)
        let values = HeaderExtensionValues(
            mid: midEnd.map { index < $0 } ?? true ? parameters.mid : nil,
            asksForImmediatePlayout: packet.isFirst,
            captureTime: tellsCaptureTime(packet) ? clock.ntpTime(at: packet.frame.capturedAt) : nil,
            transportNumber: number,
            dependency: DependencyDescriptor(
                isFirst: packet.isFirst,
                isLast: packet.isLast,
                frameNumber: packet.frame.number,
                isKeyframe: packet.frame.keyframe != nil,
                structure: packet.isFirst ? packet.frame.keyframe : nil
            ),
            // libwebrtc looks for the colour space there.
            tellsColourSpace: packet.isLast && packet.frame.keyframe != nil
        )
        if values.write(parameters.extensions, to: &bytes) { bytes[start] |= 0x10 }
    }
}
