import Time

/// Lost packets of a peer that wait to be sent again, by their numbers in the history.
struct Retransmissions: Sendable {
    /// A packet that waits, or was sent again recently.
    private struct Slot {
        var index: UInt64 = 0
        var isWaiting = false
        var repeatedAt = Instant.start
    }

    /// The most packets that wait.
    static let limit = 512
    /// A second request for a packet within this time is a repetition, whatever the round trip.
    private static let shortestPatience = Duration.milliseconds(10)
    /// The fewest bytes that may be sent again at once: a whole keyframe.
    private static let keyframeSize = 160_000
    /// The size in bytes at which every packet is counted.
    private static let packetSize = 1200

    private var waiting: [UInt64] = []
    /// By number modulo the count. A request takes the same time however many packets wait.
    private var slots = [Slot](repeating: Slot(), count: limit)
    /// Packets before this one are gone.
    private var start: UInt64 = 0

    /// The pace of retransmissions to one peer. At high loss, sending more makes it worse (RFC 4588 §7).
    ///
    /// - Parameter pace: of all packets. A tenth of it may be sent again: half of the encoder's target.
    static func budget(of pace: Pacer.Pace) -> Pacer.Pace {
        Pacer.Pace(rate: max(pace.rate / 10, 1), burst: max(pace.burst, keyframeSize))
    }

    private func slot(of index: UInt64) -> Int { Int(index % UInt64(Self.limit)) }

    /// Adds a lost packet. Left out are packets that are gone, that wait already, that were sent again so recently that
    /// they may be on their way, and those beyond the limit.
    mutating func request(_ index: UInt64, roundTripTime: Duration?, budget: inout Pacer, now: Instant) {
        let patience = max(roundTripTime ?? .zero, Self.shortestPatience)
        let slot = slots[slot(of: index)]
        guard index >= start, !slot.isWaiting, slot.index != index || now - slot.repeatedAt >= patience,
            budget.earliest(forPacketOf: Self.packetSize) <= now
        else { return }
        budget.note(packetOf: Self.packetSize, at: now)
        add(index)
    }

    /// Adds a packet, whether or not the peer asked for it. Left out are packets that wait already, and those beyond
    /// the limit.
    mutating func add(_ index: UInt64) {
        let slot = slot(of: index)
        guard !slots[slot].isWaiting else { return }
        slots[slot] = Slot(index: index, isWaiting: true)
        waiting.append(index)
    }

    mutating func forget(before start: UInt64) {
        guard start != self.start else { return }
        self.start = start
        drop { $0 < start }
    }

    /// The next packet that the history still has.
    func next(in history: borrowing PacketHistory) -> UInt64? { waiting.first { history.contains($0) } }

    /// Records that the next packet, which `next` gave, is sent.
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
