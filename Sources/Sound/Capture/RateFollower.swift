/// Decides by how much a device's samples are stretched to keep pace with this machine's clock. Sans-IO.
///
/// While the device keeps pace by itself, samples are not changed. Changes are too slow for an ear: a twentieth of a
/// semitone is 2900 millionths.
struct RateFollower {
    /// The distance of samples from their place, in seconds, that is tolerated.
    static let tolerance = 0.005
    /// Beyond this distance in seconds, samples are put to their place at once.
    static let reach = 0.05
    /// Seconds in which the larger part of a distance is made up.
    private static let patience = 5.0
    private static let mostHaste = 0.0005

    /// Whether samples must be resampled from now on.
    private(set) var isNeeded = false

    /// - Parameters:
    ///   - distance: seconds from a sample's place to its later capture time.
    ///   - slope: that of the device's clock (`DeviceClock`).
    /// - Returns: the count of samples that each sample becomes; nil while they are not changed.
    mutating func ratio(distance: Double, slope: Double) -> Double? {
        if abs(distance) > Self.tolerance { isNeeded = true }
        guard isNeeded else { return nil }
        return (1 + slope) * (1 + max(-Self.mostHaste, min(Self.mostHaste, distance / Self.patience)))
    }
}
