import Media
import Time

/// Decides which rung of the ladder each peer gets, by what its link carries: nobody waits for a link that is much worse, and
/// nobody is sent more than a bad link carries. A rung is encoded only while somebody is on it. Sans-IO: instants come from
/// outside.
struct RenditionLadder {
    /// What a peer's link carries.
    struct Link {
        var peer: ParticipantID
        /// In bits a second; nil if it was not measured.
        var rate: Double?
        /// Where the peer is: peers at one address may share a link.
        var address: String
        /// The share of packets that was lost lately, 0…1.
        var loss = 0.0
    }

    /// What makes a peer change its rung.
    private struct Terms {
        /// A peer whose link carries less than this share of the best one on its rung goes down…
        let leastShare: Double
        /// …and one that carries so much of the best one there goes up.
        let shareToClimb: Double
        /// A change of rung costs a keyframe: a link must be better or worse for so long.
        let timeToFall: Duration
        let timeToClimb: Duration
        /// For how long it must suit its rung again until that time begins anew.
        let forgiveness: Duration

        static let usual = Terms(
            leastShare: 0.5,
            shareToClimb: 0.7,
            timeToFall: .milliseconds(500),
            timeToClimb: .seconds(10),
            forgiveness: .zero
        )
        /// For peers at the address of the best one. If they share its link, that carries for each what all of them get: then the
        /// best one is only the last that has asked, and estimates even out while all get the same.
        static let neighbours = Terms(
            leastShare: 0.25,
            shareToClimb: 0.3,
            timeToFall: .seconds(4),
            timeToClimb: .seconds(3),
            forgiveness: .seconds(1)
        )
    }

    /// A link that has lost more than this lately is too small by itself: one that is shared makes packets wait instead.
    private static let mostLoss = 0.05
    private static let lossMemory = Duration.seconds(10)

    private struct Place {
        var rung = 0
        /// Since when another rung would suit.
        var unsuitableSince: Instant?
        /// Since when its own suits again.
        var suitableSince: Instant?
        /// Since when its link carries less than half of what another one at its address does.
        var behindSince: Instant?
        /// When it lost too much last.
        var lossyAt: Instant?
    }

    private let count: Int
    private var places: [ParticipantID: Place] = [:]

    /// - Parameter count: rungs at the most; 1 at the least.
    init(count: Int) { self.count = count }

    func rung(of peer: ParticipantID) -> Int { places[peer]?.rung ?? 0 }

    /// Follows the links. Peers that are not among them are forgotten.
    ///
    /// - Parameters:
    ///   - links: of all peers, each once.
    ///   - need: what nobody needs more than, in bits a second.
    mutating func place(_ links: [Link], need: Double, at now: Instant) {
        var before = places
        places.removeAll(keepingCapacity: true)
        for link in links { places[link.peer] = before.removeValue(forKey: link.peer) ?? Place() }
        noteNeighbours(links, need: need, at: now)
        guard count > 1 else { return }
        var rest = links.compactMap { link in
            link.rate.map { (link.peer, link.address, rate: min($0, need), terms: Terms.usual) }
        }
        for rung in 0..<count {
            guard let (bestPeer, address, best, _) = rest.max(by: { $0.rate < $1.rate }) else { return }
            for index in rest.indices
            where rest[index].0 != bestPeer && rest[index].1 == address && !isLossy(rest[index].0, at: now) {
                rest[index].terms = .neighbours
            }
            let isLast = rung == count - 1
            rest.removeAll { peer, _, rate, terms in
                let share = self.rung(of: peer) <= rung ? terms.leastShare : terms.shareToClimb
                guard isLast || rate >= share * best else { return false }
                move(peer, to: rung, terms, at: now)
                return true
            }
        }
    }

    /// Whether the encode goes by this peer's link although it carries much less than others': they may share it. Then it gets room
    /// as the others give way; otherwise it soon has another rung, or is left out.
    func isWaitedFor(_ peer: ParticipantID, at now: Instant) -> Bool {
        places[peer]?.behindSince.map { now < $0 + Terms.neighbours.timeToFall } ?? false
    }

    private func isLossy(_ peer: ParticipantID, at now: Instant) -> Bool {
        places[peer]?.lossyAt.map { now < $0 + Self.lossMemory } ?? false
    }

    private mutating func noteNeighbours(_ links: [Link], need: Double, at now: Instant) {
        var best: [String: (rate: Double, count: Int)] = [:]
        for link in links {
            let (rate, count) = best[link.address] ?? (0, 0)
            best[link.address] = (max(rate, min(link.rate ?? 0, need)), count + 1)
        }
        for link in links {
            if link.loss > Self.mostLoss { places[link.peer]!.lossyAt = now }
            let neighbours = best[link.address]!
            // Where most are elsewhere, they do not wait.
            let isBehind =
                2 * neighbours.count > links.count && !isLossy(link.peer, at: now)
                && link.rate.map { $0 < Terms.usual.leastShare * neighbours.rate } ?? false
            places[link.peer]!.behindSince = isBehind ? places[link.peer]!.behindSince ?? now : nil
        }
    }

    private mutating func move(_ peer: ParticipantID, to rung: Int, _ terms: Terms, at now: Instant) {
        var place = places[peer]!
        // Up there must be somebody to share the encode with.
        let isPointless = rung < place.rung && !places.values.contains { $0.rung <= rung }
        guard rung != place.rung, !isPointless else {
            let since = place.suitableSince ?? now
            place.suitableSince = since
            if now >= since + terms.forgiveness { place.unsuitableSince = nil }
            places[peer] = place
            return
        }
        place.suitableSince = nil
        let since = place.unsuitableSince ?? now
        if now >= since + (rung > place.rung ? terms.timeToFall : terms.timeToClimb) {
            place = Place(rung: rung, behindSince: place.behindSince, lossyAt: place.lossyAt)
        } else {
            place.unsuitableSince = since
        }
        places[peer] = place
    }
}
