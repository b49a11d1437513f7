/// Keeps the samples that wait for playback few, by playing them a little faster or slower: the clock of the speakers
/// differs from the writer's. Sans-IO.
///
/// It controls the least wait within a second. More is not needed, and below zero there is a gap.
struct PlaybackPace {
    /// The least wait, in seconds. It covers late wake-ups, which are later if there are gaps.
    private static let targets = 0.004...0.032
    /// How much of a raised target is given up in each second without a gap.
    private static let relief = 0.0002
    /// The pace begins to change when the least wait is outside of these shares of the target.
    private static let comfort = 0.5...2
    /// Speakers' clocks are closer than this, and ears do not hear it.
    private static let most = 0.002
    /// Seconds in which a distance is made up.
    private static let patience = 10.0

    private var target = targets.lowerBound
    private var least = Double.infinity
    private var seconds = 0.0
    private var sum = 0.0
    private var isNeeded = false
    /// The count of samples that each sample becomes; nil while they are not changed.
    private(set) var ratio: Double?

    /// Records the rest after playback.
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

    /// Records a gap in the middle of speech.
    mutating func noteGap() { target = min(target * 2, Self.targets.upperBound) }

    /// Restarts the measurement after a gap.
    mutating func restart() { (least, seconds) = (.infinity, 0) }
}
