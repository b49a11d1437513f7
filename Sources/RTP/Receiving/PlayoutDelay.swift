import Time

/// How long to wait for packets of sound, by how late those of the last seconds came. In samples of 48 kHz.
struct PlayoutDelay {
    /// 10 to 400 ms after the soonest packet could have come: one that comes still later is not waited for.
    static let range = 480...19_200
    /// Before a few seconds have shown how late packets come: 40 ms.
    private static let first = 1920
    private static let fewPackets = 250
    /// How much longer than for the late ones: 5 ms.
    private static let slack = 240
    /// Of all packets, so many shall be there in time.
    private static let share = 0.98
    /// Clocks drift, and paths change.
    private static let memory = Duration.seconds(10)
    private static let capacity = 1000

    private var recent: [(transit: Int, at: Instant)] = []
    /// Their transits, in order.
    private var transits: [Int] = []

    /// A packet came.
    ///
    /// - Parameter transit: when it came, less the timestamp of its first sample.
    mutating func note(transit: Int, at now: Instant) {
        while let oldest = recent.first, recent.count == Self.capacity || now > oldest.at + Self.memory {
            recent.removeFirst()
            transits.remove(at: place(of: oldest.transit))
        }
        recent.append((transit, now))
        transits.insert(transit, at: place(of: transit))
    }

    /// Of the first transit that is not smaller.
    private func place(of transit: Int) -> Int {
        var range = 0..<transits.count
        while let middle = range.isEmpty ? nil : (range.lowerBound + range.upperBound) / 2 {
            range = transits[middle] < transit ? middle + 1..<range.upperBound : range.lowerBound..<middle
        }
        return range.lowerBound
    }

    /// Forgets what came, as the talker's clock may have stood still.
    mutating func forget() {
        recent.removeAll()
        transits.removeAll()
    }

    /// How much later than the soonest one a packet came that has such a transit; not positive if it is the soonest.
    func lateness(of transit: Int) -> Int { transits.first.map { transit - $0 } ?? 0 }

    /// How long to wait for a packet after the soonest could have come.
    ///
    /// - Parameter more: to wait for beside late packets.
    func wait(andFor more: Int) -> Int {
        let least = transits.count < Self.fewPackets ? Self.first : Self.range.lowerBound
        guard let soonest = transits.first else { return least }
        let usual = transits[Int(Double(transits.count - 1) * Self.share)] - soonest
        return min(max(usual + Self.slack + more, least), Self.range.upperBound)
    }

    /// What is to be added to a timestamp for the time at which its packet shall be taken; nil before the first one.
    func playout(andFor more: Int) -> Int? { transits.first.map { $0 + wait(andFor: more) } }
}
