import Time

/// Limits the rate where packets are lost because they are too many: a queue that is too short to delay anything tells of
/// itself by nothing else.
///
/// On a radio link packets are lost at any rate. So a rate that was cut and has not made the loss smaller is taken back, and
/// that much loss counts as the link's own from then on.
struct LossLimit: Sendable {
    /// Loss up to this share, beyond the link's own, is never congestion.
    private static let tolerance = 0.05
    /// Loss that is still this share of what it was did not come from the rate.
    private static let persistence = 0.7
    /// A judgement needs so much time and so many packets.
    private static let shortestTime = Duration.milliseconds(250)
    private static let fewestPackets = 20
    /// By what factor the limit rises in a second while hardly anything is lost.
    private let growth: Double
    /// How many judgements a cut takes to show its effect.
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
    /// The share that is lost at any rate.
    private var inherent = 0.0
    private var cut: Cut?
    private var arrived = 0
    private var lost = 0
    private var beganAt: Instant?

    init(growth: Double = 1.25, patience: Int = 1) { (self.growth, self.patience) = (growth, patience) }

    mutating func noteArrival() { arrived += 1 }
    mutating func noteLoss() { lost += 1 }

    /// Of packets since an instant, so many arrived.
    mutating func note(arrived: Int, lost: Int, since: Instant) {
        beganAt = beganAt ?? since
        self.arrived += arrived
        self.lost += lost
    }

    /// A packet that was given up has arrived after all, unless that was judged already.
    mutating func takeBackLoss() { lost = max(lost - 1, 0) }

    /// Judges what was noted since the last time, if that is enough.
    ///
    /// - Parameters:
    ///   - delivered: what arrived, in bits a second.
    ///   - allowed: what might have been sent, in bits a second; nil if that was sent.
    mutating func judge(_ delivered: Double, of allowed: Double? = nil, at now: Instant) {
        let began = beganAt ?? now
        beganAt = began
        let count = arrived + lost
        guard now - began >= Self.shortestTime, count >= Self.fewestPackets else { return }
        let loss = Double(lost) / Double(count)
        let elapsed = min((now - began).seconds, 1)
        (arrived, lost, beganAt) = (0, 0, now)
        // What chance makes of few packets does not count: two standard deviations.
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
            // What is sent does not fill the link, so the loss says little about it, and a cut would show no effect.
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
