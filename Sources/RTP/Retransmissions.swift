import Time

/// Packets that a peer has lost and that wait to be sent again, by their numbers in the history.
struct Retransmissions: Sendable {
    /// The most packets that wait.
    static let limit = 512
    /// A request for the same packet within this time is a repetition, whatever the round trip.
    private static let shortestPatience = Duration.milliseconds(10)
    /// The fewest bytes that may be sent again at once: a whole keyframe.
    private static let keyframeSize = 160_000
    /// The size in bytes with which every packet is counted.
    private static let packetSize = 1200

    private var waiting: [UInt64] = []
    /// When packets were last sent again, by number modulo the count.
    private var repeatedAt = [(index: UInt64, at: Instant)](repeating: (0, .start), count: 256)
    /// Packets before this one are gone.
    private var start: UInt64 = 0

    /// The pace of retransmissions to one peer. Where much is lost, sending more makes it worse (RFC 4588 §7).
    ///
    /// - Parameter pace: of all packets. A tenth of it may be sent again, which is half of the encoder's target.
    static func budget(of pace: Pacer.Pace) -> Pacer.Pace {
        Pacer.Pace(rate: max(pace.rate / 10, 1), burst: max(pace.burst, keyframeSize))
    }

    /// Notes a lost packet, unless it is gone, waits already, was sent again so lately that it may still be on its way, or
    /// is one too many.
    mutating func request(_ index: UInt64, roundTripTime: Duration?, budget: inout Pacer, now: Instant) {
        let patience = max(roundTripTime ?? .zero, Self.shortestPatience)
        let last = repeatedAt[Int(index % 256)]
        guard index >= start, last.index != index || now - last.at >= patience,
            waiting.count < Self.limit, !waiting.contains(index), budget.earliest(forPacketOf: Self.packetSize) <= now
        else { return }
        budget.note(packetOf: Self.packetSize, at: now)
        waiting.append(index)
    }

    /// Notes a packet that is to be sent again, whether or not the peer asked for it.
    mutating func add(_ index: UInt64) { if !waiting.contains(index) { waiting.append(index) } }

    /// Packets before `start` are gone.
    mutating func forget(before start: UInt64) {
        guard start != self.start else { return }
        self.start = start
        waiting.removeAll { $0 < start }
    }

    /// The next packet that is still there.
    func next(in history: borrowing PacketHistory) -> UInt64? { waiting.first { history.contains($0) } }

    /// The next packet, which `next` gave, is sent.
    mutating func noteSent(_ index: UInt64, at now: Instant) {
        waiting.removeSubrange(...waiting.firstIndex(of: index)!)
        repeatedAt[Int(index % 256)] = (index, now)
    }

    mutating func removeAll() { waiting.removeAll() }
}
