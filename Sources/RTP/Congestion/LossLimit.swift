import Time

/// Limits the rate if too many packets cause loss. A queue that is too short to delay packets shows itself by loss
/// alone.
///
/// A radio link loses packets at any rate. So a cut that has not reduced the loss is taken back, and that much loss
/// then counts as the link's own.
struct LossLimit: Sendable {
    /// Loss up to this share, beyond the link's own, is never congestion.
    private static let tolerance = 0.05
    /// If this share of the loss remains after a cut, the rate did not cause it.
    private static let persistence = 0.7
    /// The shortest time and the fewest packets of a judgement.
    private static let shortestTime = Duration.milliseconds(250)
    private static let fewestPackets = 20
    /// The factor by which the limit rises in a second while hardly any packet is lost.
    private let growth: Double
    /// Judgements until a cut shows its effect.
    private let patience: Int

    /// A cut whose effect is not known yet.
    private struct Cut {
        var loss: Double
        var before: Double
        /// Judgements since then.
        var age = 0
    }

    /// Bits a second; nil for none.
    private(set) var limit: Double?
    /// The share of packets that is lost at any rate.
    private var inherent = 0.0
    private var cut: Cut?
    private var arrived = 0
    private var lost = 0
    private var beganAt: Instant?

    init(growth: Double = 1.25, patience: Int = 1) { (self.growth, self.patience) = (growth, patience) }

    mutating func noteArrival() { arrived += 1 }
    mutating func noteLoss() { lost += 1 }

    /// Adds the packets sent since an instant.
    mutating func note(arrived: Int, lost: Int, since: Instant) {
        beganAt = beganAt ?? since
        self.arrived += arrived
        self.lost += lost
    }

    /// Takes back a loss: the packet has arrived after all. A loss that was judged already stays.
    mutating func takeBackLoss() { lost = max(lost - 1, 0) }

    /// Judges the packets since the last judgement, if there are enough.
    ///
    /// - Parameters:
    ///   - delivered: the rate of arrivals, in bits a second.
    ///   - allowed: the rate that was allowed, in bits a second; nil if it was sent.
    mutating func judge(_ delivered: Double, of allowed: Double? = nil, at now: Instant) {
        let began = beganAt ?? now
        beganAt = began
        let count = arrived + lost
        guard now - began >= Self.shortestTime, count >= Self.fewestPackets else { return }
        let loss = Double(lost) / Double(count)
        let elapsed = min((now - began).seconds, 1)
        (arrived, lost, beganAt) = (0, 0, now)
        // Loss within two standard deviations may be chance.
        let chance = 2 * (loss * (1 - loss) / Double(count)).squareRoot()
        guard loss - chance > inherent + Self.tolerance else {
            cut = nil
            inherent = min(inherent, loss + Self.tolerance)
            limit = limit.map { $0 * (1 + (growth - 1) * elapsed) }
            if let limit, limit > 2 * delivered { self.limit = nil }
            return
        }
        let sent = delivered / max(1 - loss, 0.1)
        if let allowed, sent < BandwidthEstimator.applicationLimit * allowed {
            // The sent rate does not fill the link. The loss says little about it, and a cut would show no effect.
            limit = max(delivered, allowed / 2)
            cut = nil
            return
        }
        cut?.age += 1
        if let cut, cut.age < patience { return }
        if let cut, loss > Self.persistence * cut.loss {
            inherent = loss
            limit = cut.before
            self.cut = nil
        } else {
            cut = Cut(loss: loss, before: sent)
            limit = delivered / (1 - min(inherent, 0.9))
        }
    }
}
