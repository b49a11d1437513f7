/// Keeps what waits to be played short, by playing it a little faster or slower: the clock of the speakers is not that of whoever writes it.
/// Sans-IO.
///
/// What counts is the least that has waited within a second: more than that nothing needs, and less than none is a gap.
struct PlaybackPace {
    /// The least that should wait, in seconds: it covers what wakes late, which is more where there are gaps.
    private static let targets = 0.004...0.032
    /// What of a higher target is given up in each second without a gap.
    private static let relief = 0.0002
    /// With a least within these shares of the target, nothing is done as long as nothing had to be done.
    private static let comfort = 0.5...2
    /// Speakers' clocks are closer than that, and ears do not hear it.
    private static let most = 0.002
    /// In how many seconds a distance is made up.
    private static let patience = 10.0

    private var target = targets.lowerBound
    private var least = Double.infinity
    private var seconds = 0.0
    private var sum = 0.0
    private var isNeeded = false
    /// How many samples each sample becomes; nil while they are played as they are.
    private(set) var ratio: Double?

    /// Takes note of what is left after something was played.
    ///
    /// - Parameters:
    ///   - waiting: in seconds.
    ///   - played: in seconds.
    mutating func note(waiting: Double, after played: Double) {
        least = min(least, waiting)
        seconds += played
        guard seconds >= 1 else { return }
        let distance = least - target
        if !Self.comfort.contains(least / target) { isNeeded = true }
        if isNeeded {
            // A proportional and an integral part, damped so that it does not swing.
            sum = max(-Self.most, min(Self.most, sum + distance * seconds / (4 * Self.patience * Self.patience)))
            ratio = 1 - max(-Self.most, min(Self.most, distance / Self.patience + sum))
        }
        (least, seconds) = (.infinity, 0)
        target = max(Self.targets.lowerBound, target - Self.relief)
    }

    /// Takes note of a gap in the middle of speech.
    mutating func noteGap() { target = min(target * 2, Self.targets.upperBound) }

    /// Begins to count anew, as there was a gap.
    mutating func restart() { (least, seconds) = (.infinity, 0) }
}
