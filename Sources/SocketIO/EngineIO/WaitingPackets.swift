/// Packets that wait for a client's next request, or for an upgrade to a WebSocket.
struct WaitingPackets: Sendable {
    /// Bytes of a packet besides its data.
    private static let packetCost = 100
    /// Bytes of the packets in one answer, unless the first has more. Answered bytes are not counted any more.
    private static let answerSize = 64_000

    private var packets: [EnginePacket] = []
    private(set) var size = 0

    var isEmpty: Bool { packets.isEmpty }

    mutating func append(_ packet: EnginePacket) {
        packets.append(packet)
        size += Self.size(of: packet)
    }

    mutating func takeAll() -> [EnginePacket] {
        defer { (packets, size) = ([], 0) }
        return packets
    }

    /// Takes the first packets, as many as fit into one answer.
    mutating func takeAnswer() -> [EnginePacket] {
        var (count, taken) = (0, 0)
        for packet in packets {
            let next = Self.size(of: packet)
            guard count == 0 || taken + next <= Self.answerSize else { break }
            (count, taken) = (count + 1, taken + next)
        }
        guard count < packets.count else { return takeAll() }
        defer { packets.removeFirst(count) }
        size -= taken
        return Array(packets.prefix(count))
    }

    private static func size(of packet: EnginePacket) -> Int { EnginePayload.size(of: packet) + packetCost }
}
