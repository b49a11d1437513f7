import Time

/// A receiver's counts of one source for its reports (RFC 3550 §6.4.1, §A.3, §A.8).
struct ReceptionStatistics {
    /// After this long without a packet, another source may replace this one.
    private static let silence = Duration.seconds(1)

    private let clockRate: Int
    /// The extended numbers of the first packet and of the highest, with the count of wraps in the upper half.
    private var base: UInt32?
    private var highest: UInt32 = 0
    private var received: UInt32 = 0
    /// At the last report.
    private var expectedBefore: UInt32 = 0
    private var receivedBefore: UInt32 = 0
    /// In ticks of the source's clock.
    private var jitter = 0.0
    private var transit: UInt32?
    private var senderReport: (middle: UInt32, at: Instant)?
    private var lastArrival: Instant?

    init(clockRate: Int) { self.clockRate = clockRate }

    /// Records a packet, which may be a repetition.
    mutating func notePacket(_ header: RTPHeader, at now: Instant) {
        received &+= 1
        lastArrival = now
        if base == nil {
            base = UInt32(header.sequenceNumber)
            highest = UInt32(header.sequenceNumber)
        } else {
            let step = Int16(bitPattern: header.sequenceNumber &- UInt16(truncatingIfNeeded: highest))
            if step > 0 { highest &+= UInt32(step) }
        }
        let arrival = UInt32(truncatingIfNeeded: RTPStream.ticks(now, clockRate))
        let transit = arrival &- header.timestamp
        if let before = self.transit {
            let difference = Double(Int32(bitPattern: transit &- before).magnitude)
            jitter += (difference - jitter) / 16
        }
        self.transit = transit
    }

    mutating func noteReport(_ report: SenderReport, at now: Instant) { senderReport = (report.ntpTime.middle, now) }

    func isSilent(at now: Instant) -> Bool { lastArrival.map { now > $0 + Self.silence } ?? true }

    /// The report since the last one; nil before the first packet.
    mutating func takeReport(of ssrc: UInt32, at now: Instant) -> ReportBlock? {
        guard let base else { return nil }
        let expected = highest &- base &+ 1
        let (expectedNow, receivedNow) = (expected &- expectedBefore, received &- receivedBefore)
        (expectedBefore, receivedBefore) = (expected, received)
        let lost = Int64(expectedNow) - Int64(receivedNow)
        let fraction = expectedNow == 0 || lost <= 0 ? 0 : min(lost * 256 / Int64(expectedNow), 255)
        let cumulative = min(max(Int64(expected) - Int64(received), -0x80_0000), 0x7F_FFFF)
        let delay = senderReport.map { (now - $0.at).seconds * 65536 } ?? 0
        return ReportBlock(
            ssrc: ssrc,
            fractionLost: UInt8(fraction),
            cumulativeLost: Int32(cumulative),
            highestSequenceNumber: highest,
            jitter: UInt32(jitter),
            lastSenderReport: senderReport?.middle ?? 0,
            delaySinceLastSenderReport: UInt32(min(max(delay, 0), Double(UInt32.max)))
        )
    }
}
