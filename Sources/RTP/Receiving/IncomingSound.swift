import Media
import Time

/// One stream of sound from a peer: each packet as it comes. The player decides how long to wait for a missing one.
struct IncomingSound {
    /// After this long without a packet, another source may replace this one.
    private static let silence = Duration.seconds(1)

    let ssrc: UInt32
    private var statistics = ReceptionStatistics(clockRate: StreamCodec.opus.clockRate)
    private var lastArrival: Instant?
    private var packets: [ReceivedSound] = []

    init(ssrc: UInt32) { self.ssrc = ssrc }

    mutating func takePackets() -> [ReceivedSound] {
        defer { packets.removeAll() }
        return packets
    }

    mutating func receive(_ packet: IncomingPacket, now: Instant) {
        statistics.notePacket(packet.header, at: now)
        lastArrival = now
        // Padding.
        guard !packet.payload.isEmpty else { return }
        packets.append(
            ReceivedSound(
                sequenceNumber: packet.header.sequenceNumber,
                timestamp: packet.header.timestamp,
                arrivedAt: now,
                level: packet.soundLevel,
                bytes: Array(packet.payload)
            )
        )
    }

    mutating func receive(_ report: SenderReport, now: Instant) { statistics.noteReport(report, at: now) }

    func isSilent(at now: Instant) -> Bool { lastArrival.map { now > $0 + Self.silence } ?? true }

    mutating func takeReport(at now: Instant) -> ReportBlock? { statistics.takeReport(of: ssrc, at: now) }
}
