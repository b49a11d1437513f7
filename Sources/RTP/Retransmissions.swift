import Time

/// Packets that a peer has lost and that wait to be sent again, by their numbers in the history.
struct Retransmissions: Sendable {
    /// A packet that waits, or that was sent again lately.
    private struct Slot {
        var index: UInt64 = 0
        var isWaiting = false
        var repeatedAt = Instant.start
    }

    /// The most packets that wait.
    static let limit = 512
    /// A request for the same packet within this time is a repetition, whatever the round trip.
    private static let shortestPatience = Duration.milliseconds(10)
    /// The fewest bytes that may be sent again at once: a whole keyframe.
    private static let keyframeSize = 160_000
    /// The size in bytes with which every packet is counted.
    private static let packetSize = 1200

    private var waiting: [UInt64] = []
    /// By number modulo the count: a request takes as long however much waits.
    private var slots = [Slot](repeating: Slot(), count: limit)
    /// Packets before this one are gone.
    private var start: UInt64 = 0

    /// The pace of retransmissions to one peer. Where much is lost, sending more makes it worse (RFC 4588 §7).
    ///
    /// - Parameter pace: of all packets. A tenth of it may be sent again, which is half of the encoder's target.
    static func budget(of pace: Pacer.Pace) -> Pacer.Pace {
        Pacer.Pace(rate: max(pace.rate / 10, 1), burst: max(pace.burst, keyframeSize))
    }

    private func slot(of index: UInt64) -> Int { Int(index % UInt64(Self.limit)) }

    /// Notes a lost packet, unless it is gone, waits already, was sent again so lately that it may still be on its way, or
    /// is one too many.
    mutating func request(_ index: UInt64, roundTripTime: Duration?, budget: inout Pacer, now: Instant) {
        let patience = max(roundTripTime ?? .zero, Self.shortestPatience)
        let slot = slots[slot(of: index)]
        guard index >= start, !slot.isWaiting, slot.index != index || now - slot.repeatedAt >= patience,
            budget.earliest(forPacketOf: Self.packetSize) <= now
        else { return }
        budget.note(packetOf: Self.packetSize, at: now)
        add(index)
    }

    /// Notes a packet that is to be sent again, whether or not the peer asked for it, unless it waits already or is one too many.
    mutating func add(_ index: UInt64) {
        let slot = slot(of: index)
        guard !slots[slot].isWaiting else { return }
        slots[slot] = Slot(index: index, isWaiting: true)
        waiting.append(index)
    }

    /// Packets before `start` are gone.
    mutating func forget(before start: UInt64) {
        guard start != self.start else { return }
        self.start = start
        drop { $0 < start }
    }

    /// The next packet that is still there.
    func next(in history: borrowing PacketHistory) -> UInt64? { waiting.first { history.contains($0) } }

    /// The next packet, which `next` gave, is sent.
    mutating func noteSent(_ index: UInt64, at now: Instant) {
        let count = waiting.firstIndex(of: index)! + 1
        for gone in waiting.prefix(count) { slots[slot(of: gone)].isWaiting = false }
        waiting.removeFirst(count)
        slots[slot(of: index)] = Slot(index: index, repeatedAt: now)
    }

    mutating func removeAll() { drop { _ in true } }

    private mutating func drop(_ isGone: (UInt64) -> Bool) {
        if waiting.isEmpty { return }
        for index in waiting where isGone(index) { slots[slot(of: index)].isWaiting = false }
        waiting.removeAll(where: isGone)
    }
}
