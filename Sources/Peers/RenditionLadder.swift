import Time

/// Decides which rung of the ladder each peer gets, by what its link carries: nobody waits for a link that is much worse, and
/// nobody is sent more than a bad link carries. A rung is encoded only while somebody is on it. Sans-IO: instants come from
/// outside.
struct RenditionLadder {
    /// A peer whose link carries less than this share of the best one on its rung goes down…
    private static let leastShare = 0.5
    /// …and one that carries so much of the best one there goes up.
    private static let shareToClimb = 0.7
    /// A change of rung costs a keyframe: a link must be better or worse for so long.
    private static let (timeToFall, timeToClimb) = (Duration.milliseconds(500), Duration.seconds(10))

    private struct Place {
        var rung = 0
        /// Since when another rung would suit.
        var unsuitableSince: Instant?
    }

    private let count: Int
    private var places: [Int: Place] = [:]

    /// - Parameter count: rungs at the most; 1 at the least.
    init(count: Int) { self.count = count }

    func rung(of peer: Int) -> Int { places[peer]?.rung ?? 0 }

    /// Follows the links. Peers that are not among them are forgotten.
    ///
    /// - Parameters:
    ///   - links: what they carry, in bits a second, by the numbers of the peers; nil for those that were not measured.
    ///   - need: what nobody needs more than, in bits a second.
    mutating func place(_ links: [(peer: Int, rate: Double?)], need: Double, at now: Instant) {
        var before = places
        places.removeAll(keepingCapacity: true)
        for link in links { places[link.peer] = before.removeValue(forKey: link.peer) ?? Place() }
        guard count > 1 else { return }
        var rest = links.compactMap { link in link.rate.map { (peer: link.peer, rate: min($0, need)) } }
        for rung in 0..<count {
            guard let best = rest.lazy.map(\.rate).max() else { return }
            let isLast = rung == count - 1
            rest.removeAll { link in
                let share = self.rung(of: link.peer) <= rung ? Self.leastShare : Self.shareToClimb
                guard isLast || link.rate >= share * best else { return false }
                move(link.peer, to: rung, at: now)
                return true
            }
        }
    }

    private mutating func move(_ peer: Int, to rung: Int, at now: Instant) {
        var place = places[peer]!
        // Up there must be somebody to share the encode with.
        let isPointless = rung < place.rung && !places.values.contains { $0.rung <= rung }
        guard rung != place.rung, !isPointless else {
            places[peer]!.unsuitableSince = nil
            return
        }
        let since = place.unsuitableSince ?? now
        if now >= since + (rung > place.rung ? Self.timeToFall : Self.timeToClimb) {
            place = Place(rung: rung)
        } else {
            place.unsuitableSince = since
        }
        places[peer] = place
    }
}
