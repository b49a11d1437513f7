/// Packets that a viewer has lost and that wait to be sent again, by their numbers in the history.
struct Retransmissions: Sendable {
    /// Packets that wait at the most.
    static let limit = 512
    /// Less than this is no round trip, but a repeated request.
    private static let shortestPatience: UInt64 = 10_000_000

    private var waiting: [UInt64] = []
    /// When packets were last sent again, by number modulo the count.
    private var repeatedAt = [(index: UInt64, at: UInt64)](repeating: (.max, 0), count: 256)

    /// Notes a lost packet, unless it waits already or was sent again so lately that it may still be on its way.
    ///
    /// - Returns: whether it was noted.
    mutating func request(_ index: UInt64, roundTripTime: UInt64?, now: UInt64) -> Bool {
        let last = repeatedAt[Int(index % 256)]
        let patience = max(roundTripTime ?? 0, Self.shortestPatience)
        guard last.index != index || now >= last.at.adding(clamped: patience), waiting.count < Self.limit,
            !waiting.contains(index)
        else { return false }
        waiting.append(index)
        return true
    }

    /// Packets that are no longer there take no places.
    mutating func forget(before start: UInt64) {
        if let oldest = waiting.min(), oldest < start { waiting.removeAll { $0 < start } }
    }

    /// The next packet that is still there.
    func next(in history: borrowing PacketHistory) -> UInt64? { waiting.first { history.contains($0) } }

    /// The next packet, which `next` gave, is sent.
    mutating func noteSent(_ index: UInt64, at now: UInt64) {
        waiting.removeSubrange(...waiting.firstIndex(of: index)!)
        repeatedAt[Int(index % 256)] = (index, now)
    }

    mutating func removeAll() { waiting.removeAll() }
}
