import Media
import Time

/// One stream of sound from a peer: each packet as it comes. The player decides how long to wait for a missing one.
struct IncomingSound {
    let ssrc: UInt32
    var statistics = ReceptionStatistics(clockRate: StreamCodec.opus.clockRate)
    private var packets: [ReceivedSound] = []

    init(ssrc: UInt32) { self.ssrc = ssrc }

    mutating func takePackets() -> [ReceivedSound] { exchange(&packets, with: []) }

    mutating func receive(_ packet: IncomingPacket, now: Instant) {
        statistics.notePacket(packet.header, at: now)
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
}
