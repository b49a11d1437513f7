import Time

/// How long to wait for packets of sound, from the lateness of those of the last seconds. In samples of 48 kHz.
struct PlayoutDelay {
    /// The wait after the soonest possible packet: 10 to 400 ms. A later packet is not waited for.
    static let range = 480...19_200
    /// The wait before a few seconds have shown the lateness: 40 ms.
    private static let first = 1920
    private static let fewPackets = 250
    /// Added to the wait for late packets: 5 ms.
    private static let slack = 240
    /// The share of packets that shall be in time.
    private static let share = 0.98
    /// Clocks drift, and paths change.
    private static let memory = Duration.seconds(10)
    private static let capacity = 1000

    private var recent: [(transit: Int, at: Instant)] = []
    /// Their transits, in order.
    private var transits: [Int] = []

    /// Records an arrival.
    ///
    /// - Parameter transit: the arrival, less the timestamp of its first sample.
    mutating func note(transit: Int, at now: Instant) {
        while let oldest = recent.first, recent.count == Self.capacity || now > oldest.at + Self.memory {
            recent.removeFirst()
            transits.remove(at: place(of: oldest.transit))
        }
        recent.append((transit, now))
        transits.insert(transit, at: place(of: transit))
    }

    /// The index of the first transit that is not smaller.
    private func place(of transit: Int) -> Int { transits.partitionPoint { $0 >= transit } }

    /// Forgets all arrivals: the talker's clock may have stood still.
    mutating func forget() {
        recent.removeAll()
        transits.removeAll()
    }

    /// The lateness of a transit behind the soonest one; not positive if it is the soonest itself.
    func lateness(of transit: Int) -> Int { transits.first.map { transit - $0 } ?? 0 }

    /// How long to wait for a packet after the soonest possible one.
    ///
    /// - Parameter more: added to the wait for late packets.
    func wait(andFor more: Int) -> Int {
        let least = transits.count < Self.fewPackets ? Self.first : Self.range.lowerBound
        guard let soonest = transits.first else { return least }
        let usual = transits[Int(Double(transits.count - 1) * Self.share)] - soonest
        return min(max(usual + Self.slack + more, least), Self.range.upperBound)
    }

    /// The offset from a timestamp to the time at which its packet is played; nil before the first packet.
    func playout(andFor more: Int) -> Int? { transits.first.map { $0 + wait(andFor: more) } }
}
