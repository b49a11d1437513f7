import Glibc
package import Time

/// The capacity of the links of a rendition's peers, which all get one encode.
package struct RenditionCapacity: Equatable, Sendable {
    package struct Link {
        /// The capacity, in bits a second.
        var estimate: Double
        /// The time until the last waiting packet has left.
        var backlog: Duration
        /// Whether it counts in any case.
        var isWaitedFor: Bool

        package init(estimate: Double, backlog: Duration, isWaitedFor: Bool = false) {
            (self.estimate, self.backlog, self.isWaitedFor) = (estimate, backlog, isWaitedFor)
        }
    }

    /// The share of an estimate for pictures. The rest is for headers and retransmissions.
    static let share = 0.85
    /// A link below this share of the median does not slow down the others.
    private static let leastShare = 0.5
    /// The ratio of two targets, so that not every estimate changes the encoder.
    private static let step = 1.05
    /// With a longer backlog, the next picture waits too, as it would be old when it leaves.
    private static let longestBacklog = Duration.milliseconds(100)

    /// The bound of the target of rate control, in bits a second; nil if the links carry the target.
    package let limit: Int?
    /// The capacity for pictures of the slowest link that counts, in bits a second; nil if no link was measured.
    package let linkRate: Int?
    /// The time until which no peer can take a frame; nil if one can.
    package let isFullUntil: Instant?
    /// Whether the first packets will measure the links.
    let measuresLink: Bool

    /// - Parameters:
    ///   - links: the measured links of the rendition's peers.
    ///   - isMeasuring: whether the first packets will measure all other links.
    ///   - most: the target of rate control, in bits a second.
    package init(_ links: [Link], isMeasuring: Bool = false, most: Int, at now: Instant) {
        measuresLink = links.isEmpty && isMeasuring
        if links.isEmpty {
            (limit, linkRate, isFullUntil) = (nil, nil, nil)
            return
        }
        let median = links.map(\.estimate).sorted()[links.count / 2]
        let counting = links.filter { $0.estimate >= Self.leastShare * median || $0.isWaitedFor }
        let rate = counting.map(\.estimate).min()! * Self.share
        linkRate = Int(rate)
        let rounded = Self.rounded(rate)
        limit = rounded < most ? rounded : nil
        let backlog = counting.map(\.backlog).min()!
        isFullUntil = backlog > Self.longestBacklog ? now + (backlog - Self.longestBacklog) : nil
    }

    private static func rounded(_ rate: Double) -> Int { Int(pow(step, (log(rate) / log(step)).rounded(.down))) }
}
