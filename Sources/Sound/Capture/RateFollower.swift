/// Decides how much longer the samples of a device are made, so that they keep pace with this machine's clock. Sans-IO.
///
/// As long as the device does that by itself, they pass as they are. Changes are too slow for an ear: a twentieth of a semitone is 2900
/// millionths.
struct RateFollower {
    /// How far, in seconds, samples may be from their place before anything is done about it.
    static let tolerance = 0.005
    /// Beyond this many seconds they are not led to their place, but put there.
    static let reach = 0.05
    /// In how many seconds the larger part of a distance is made up.
    private static let patience = 5.0
    private static let mostHaste = 0.0005

    /// Whether samples have to be resampled, from now on.
    private(set) var isNeeded = false

    /// - Parameters:
    ///   - distance: how many seconds later than its place a sample was captured.
    ///   - slope: that of the device's clock (`DeviceClock`).
    /// - Returns: how many samples each sample becomes; nil while they pass as they are.
    mutating func ratio(distance: Double, slope: Double) -> Double? {
        if abs(distance) > Self.tolerance { isNeeded = true }
        guard isNeeded else { return nil }
        return (1 + slope) * (1 + max(-Self.mostHaste, min(Self.mostHaste, distance / Self.patience)))
    }
}
