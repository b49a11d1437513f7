/// Detects from the delay of groups of packets whether a queue builds up on the path.
///
/// The slope of the delay over the last groups is compared with an adaptive threshold. A fixed one would give way for
/// ever to flows that fill the queue until it overflows (Carlucci et al., "Analysis and Design of the Google Congestion
/// Control for WebRTC", MMSys 2016, §4).
struct DelayTrend: Sendable {
    enum Signal: Sendable {
        /// The queue grows.
        case overuse
        case normal
        /// The queue shrinks.
        case underuse
    }

    private static let windowLength = 20
    /// With fewer groups the slope is mostly noise.
    private static let fewestGroups = 6
    private static let smoothing = 0.9
    private static let gain = 4.0
    private static let mostGroups = 60
    private static let thresholds = 6.0...600.0
    /// Speed at which the threshold follows the slope, per millisecond: slowly up, faster down.
    private static let (rise, fall) = (0.0087, 0.039)
    /// A slope this far above the threshold is a jump of the delay, and says nothing about the usual slope.
    private static let largestExcess = 15.0
    /// For how long the slope must be too steep, in milliseconds.
    private static let overuseTime = 10.0

    private var groups = ArrivalGroups()
    private var count = 0
    private var sum = 0.0
    private var smoothed = 0.0
    /// When groups arrived, and the smoothed delay.
    private var window: [(x: Double, y: Double)] = []
    private var threshold = 12.5
    private var updatedAt: Double?
    private var slope = 0.0
    /// For how long the slope has been above the threshold, in milliseconds, and in how many groups; nil while it is not.
    private var excess: (time: Double, groups: Int)?
    private(set) var signal = Signal.normal

    /// Adds a packet, in the order of sending.
    mutating func add(_ arrival: Arrival) {
        guard let step = groups.add(arrival) else { return }
        count = min(count + 1, Self.mostGroups)
        sum += step.arrived - step.sent
        smoothed = Self.smoothing * smoothed + (1 - Self.smoothing) * sum
        if window.count == Self.windowLength { window.removeFirst() }
        window.append((step.arrivedAt, smoothed))
        if window.count >= Self.fewestGroups { judge(Self.slope(of: window), step) }
    }

    private mutating func judge(_ slope: Double, _ step: ArrivalGroups.Step) {
        defer { self.slope = slope }
        let trend = slope * Double(count) * Self.gain
        if trend > threshold {
            let before = excess ?? (-step.sent / 2, 0)
            excess = (before.time + step.sent, before.groups + 1)
            if let excess, excess.time > Self.overuseTime, excess.groups > 1, slope >= self.slope {
                self.excess = (0, 0)
                signal = .overuse
            }
        } else {
            excess = nil
            signal = trend < -threshold ? .underuse : .normal
        }
        adapt(to: abs(trend), at: step.arrivedAt)
    }

    private mutating func adapt(to trend: Double, at now: Double) {
        defer { updatedAt = now }
        guard trend <= threshold + Self.largestExcess else { return }
        let elapsed = min(max(now - (updatedAt ?? now), 0), 100)
        threshold += (trend < threshold ? Self.fall : Self.rise) * (trend - threshold) * elapsed
        threshold = min(max(threshold, Self.thresholds.lowerBound), Self.thresholds.upperBound)
    }

    /// The slope of the line that fits best, by least squares.
    private static func slope(of points: [(x: Double, y: Double)]) -> Double {
        let count = Double(points.count)
        let (meanX, meanY) = (points.reduce(0) { $0 + $1.x } / count, points.reduce(0) { $0 + $1.y } / count)
        let squares = points.reduce(0) { $0 + ($1.x - meanX) * ($1.x - meanX) }
        if squares == 0 { return 0 }
        return points.reduce(0) { $0 + ($1.x - meanX) * ($1.y - meanY) } / squares
    }
}
