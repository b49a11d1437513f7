import Media
import Time

/// Decides which rung of the ladder each peer gets, by the capacity of its link. No peer waits for a much worse link, and no bad link gets
/// more than it carries. A rung is encoded only while a peer is on it. Sans-IO.
struct RenditionLadder {
    struct Link {
        var peer: ParticipantID
        /// The capacity, in bits a second; nil if it was not measured.
        var rate: Double?
        /// Peers at one address may share a link.
        var address: String
        /// The lately lost share of packets, 0…1.
        var loss = 0.0
    }

    /// The conditions for a change of the rung.
    private struct Terms {
        /// A peer goes down if its link is below this share of the best one on its rung.
        let leastShare: Double
        /// A peer goes up if its link is at this share of the best one there.
        let shareToClimb: Double
        /// A change costs a keyframe, so a link must be better or worse for so long.
        let timeToFall: Duration
        let timeToClimb: Duration
        /// The time on a suitable rung after which that time begins anew.
        let forgiveness: Duration

        static let usual = Terms(
            leastShare: 0.5,
            shareToClimb: 0.7,
            timeToFall: .milliseconds(500),
            timeToClimb: .seconds(10),
            forgiveness: .zero
        )
        /// For peers at the address of the best one. If they share its link, each estimate depends on the others' traffic, and estimates even
        /// out while all get the same.
        static let neighbours = Terms(
            leastShare: 0.25,
            shareToClimb: 0.3,
            timeToFall: .seconds(4),
            timeToClimb: .seconds(3),
            forgiveness: .seconds(1)
        )
    }

    /// A link with more loss is too small by itself. A shared one would make packets wait instead.
    private static let mostLoss = 0.05
    private static let lossMemory = Duration.seconds(10)

    private struct Place {
        var rung = 0
        /// The time since which another rung would suit.
        var unsuitableSince: Instant?
        /// The time since which its own rung suits again.
        var suitableSince: Instant?
        /// The time since which its link is below half of another one at its address.
        var behindSince: Instant?
        /// The time of its last high loss.
        var lossyAt: Instant?
    }

    private let count: Int
    private var places: [ParticipantID: Place] = [:]

    /// - Parameter count: rungs; 1 at the least.
    init(count: Int) { self.count = count }

    func rung(of peer: ParticipantID) -> Int { places[peer]?.rung ?? 0 }

    /// Follows the links. Peers that are not among them are forgotten.
    ///
    /// - Parameters:
    ///   - links: of all peers, each once.
    ///   - need: the most that any peer needs, in bits a second.
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

    /// Whether the encode follows this peer's link although it is much worse than others', which may share it. If they do, they give way to it.
    /// If not, the peer soon has another rung, or is left out.
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
            // If most peers are elsewhere, they do not wait.
            let isBehind =
                2 * neighbours.count > links.count && !isLossy(link.peer, at: now)
                && link.rate.map { $0 < Terms.usual.leastShare * neighbours.rate } ?? false
            places[link.peer]!.behindSince = isBehind ? places[link.peer]!.behindSince ?? now : nil
        }
    }

    private mutating func move(_ peer: ParticipantID, to rung: Int, _ terms: Terms, at now: Instant) {
        var place = places[peer]!
        // A rung above needs another peer on it.
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
