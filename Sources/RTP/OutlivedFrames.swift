import Time

/// Decides when the pictures that wait for a link are given up, as it turns out to carry much less than they were made for: a
/// keyframe that suits it is there sooner. Sans-IO: instants come from outside.
struct OutlivedFrames: Sendable {
    /// A link that carries no more than this share of what it did a moment ago is another one. Whatever is made for it then
    /// suits it, however long that takes.
    private static let collapse = 0.5
    /// How long the last of what waits may take to leave, …
    private static let longestWait = Duration.seconds(1)
    /// … if no more than this share of the frame has left.
    private static let largestShare = 0.5
    /// How long it may take to arrive with what is on its way. Most of that is lost in the queue of a link that has become slow.
    private static let longestArrival = Duration.seconds(4)
    /// A smaller picture gets this time to come through.
    private static let interval = Duration.seconds(3)

    /// What the link carried in the last seconds at the most, negated, in bits a second.
    private var highest = RecentMinimum(interval: 2000)
    private var earliest = Instant.start

    /// Tells whether to give up what waits. After that, it is not given up again for the same reason.
    ///
    /// - Parameters:
    ///   - waiting: bytes that have not left.
    ///   - sentShare: how much of the frame that is being sent has left, 0…1.
    ///   - inFlight: bytes of which nothing is known.
    ///   - estimate: what the link carries, in bits a second.
    mutating func take(waiting: Int, sentShare: Double, inFlight: Int, estimate: Double, at now: Instant) -> Bool {
        highest.add(-estimate, at: Double(now.nanoseconds) / 1e6)
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
