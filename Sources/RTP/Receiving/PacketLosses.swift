import Time

/// Missing packets of one source: when to ask for them (RFC 4585 §6.2.1), and when to give them up.
struct PacketLosses {
    private struct Loss {
        let number: Int64
        var requests = 0
        var askAt: Instant
    }

    /// How often the same packet is asked for.
    static let mostRequests = 8
    /// The most missing packets. Beyond it, only a keyframe helps.
    static let limit = 512
    /// The most packets that are asked for at once, so that the request fits into a datagram.
    static let mostAtOnce = 128
    /// How far packets overtake each other on the path.
    static let patience = Duration.milliseconds(5)
    private static let shortestRoundTrip = Duration.milliseconds(20)

    /// In the order of numbers.
    private var losses: [Loss] = []

    /// Records missing packets: a packet came beyond them. Returns false if they are too many.
    mutating func noteGap(_ numbers: Range<Int64>, now: Instant) -> Bool {
        guard losses.count + numbers.count <= Self.limit else {
            losses.removeAll()
            return false
        }
        losses += numbers.map { Loss(number: $0, askAt: now + Self.patience) }
        return true
    }

    mutating func noteArrival(of number: Int64) {
        let place = place(of: number)
        if place < losses.count, losses[place].number == number { losses.remove(at: place) }
    }

    mutating func forget(before number: Int64) { losses.removeFirst(place(of: number)) }

    /// The index of the first loss at or after a number.
    private func place(of number: Int64) -> Int { losses.partitionPoint { $0.number >= number } }

    /// The packets to ask for now. Each is asked for at intervals of a round trip.
    mutating func takeRequests(roundTripTime: Duration?, at now: Instant) -> [UInt16] {
        let interval = max(roundTripTime ?? .usualRoundTrip, Self.shortestRoundTrip)
        var numbers: [UInt16] = []
        for index in losses.indices where losses[index].askAt <= now && losses[index].requests < Self.mostRequests {
            if numbers.count == Self.mostAtOnce { break }
            numbers.append(UInt16(truncatingIfNeeded: losses[index].number))
            losses[index].requests += 1
            losses[index].askAt = now + interval
        }
        return numbers
    }

    /// The first missing packet, if it was asked for often enough.
    func hopeless(at now: Instant) -> Int64? {
        losses.first.flatMap { $0.requests == Self.mostRequests && $0.askAt <= now ? $0.number : nil }
    }

    /// When there is something to ask for or to give up; nil while nothing is missing.
    var nextDeadline: Instant? {
        // Of packets that are not asked for again, only the first one can be given up.
        earliest(losses.first?.askAt, losses.lazy.filter { $0.requests < Self.mostRequests }.map(\.askAt).min())
    }
}
