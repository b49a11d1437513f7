import Time

/// Decides when to give up waiting pictures because the link carries much less than they were made for. A smaller
/// keyframe arrives sooner. Sans-IO: instants come from outside.
struct OutlivedFrames: Sendable {
    /// The link has collapsed if it carries no more than this share of its highest estimate in the last two seconds.
    /// Otherwise the pictures fit the link, and are never given up.
    private static let collapse = 0.5
    /// The longest time until the last waiting byte leaves, while most of the frame has not left.
    private static let longestWait = Duration.seconds(1)
    /// Most of the frame has not left while this share or less has.
    private static let largestShare = 0.5
    /// The longest time until the last waiting byte arrives, behind those in flight. Most of them are lost in the queue
    /// of a link that has become slow.
    private static let longestArrival = Duration.seconds(4)
    /// The shortest time between two collapses. A smaller picture needs it to arrive.
    private static let interval = Duration.seconds(3)

    /// The highest estimate of the last two seconds, negated, in bits a second.
    private var highest = RecentMinimum(interval: 2000)
    private var earliest = Instant.start

    /// Returns whether to give up the waiting pictures. True comes once for a collapse.
    ///
    /// - Parameters:
    ///   - waiting: bytes that have not left.
    ///   - sentShare: the share of the present frame that has left, 0…1.
    ///   - inFlight: bytes that have left without feedback so far.
    ///   - estimate: the estimate of the link, in bits a second.
    mutating func judge(waiting: Int, sentShare: Double, inFlight: Int, estimate: Double, at now: Instant) -> Bool {
        highest.add(-estimate, at: now.milliseconds)
        guard let highest = highest.value, estimate <= Self.collapse * -highest, now >= earliest else { return false }
        let wait = Duration.seconds(Double(waiting) * 8 / estimate)
        let arrival = Duration.seconds(Double(waiting + inFlight) * 8 / estimate)
        guard wait > Self.longestWait && sentShare <= Self.largestShare || arrival > Self.longestArrival else {
            return false
        }
        earliest = now + Self.interval
        self.highest = RecentMinimum(interval: 2000)
        return true
    }
}
