import Glibc
package import Time

/// What the links of a rendition's peers allow: one encode serves all of them.
package struct RenditionCapacity: Equatable, Sendable {
    /// One peer's link.
    package struct Link {
        /// What it carries, in bits a second.
        var estimate: Double
        /// How long until the last of what waits for it has left.
        var backlog: Duration
        /// Whether it counts however little it carries.
        var isWaitedFor: Bool

        package init(estimate: Double, backlog: Duration, isWaitedFor: Bool = false) {
            (self.estimate, self.backlog, self.isWaitedFor) = (estimate, backlog, isWaitedFor)
        }
    }

    /// The share of an estimate that goes to pictures: the rest is for headers and for what must be sent again.
    static let share = 0.85
    /// A link that carries less than this share of what most carry does not slow down the others.
    private static let leastShare = 0.5
    /// Targets are this far apart, so that not every estimate changes the encoder.
    private static let step = 1.05
    /// While so much waits, the next picture had better wait too: it would be old when it leaves.
    private static let longestBacklog = Duration.milliseconds(100)

    /// What of the target of rate control the links carry, in bits a second; nil if they carry all of it.
    package let limit: Int?
    /// What of pictures the slowest link carries that counts, in bits a second; nil if no link was measured.
    package let linkRate: Int?
    /// Until when no peer can take a frame; nil if one can.
    package let isFullUntil: Instant?
    /// Whether no link was measured, and the first packets will do that.
    let measuresLink: Bool

    /// - Parameters:
    ///   - links: those of the peers that get the rendition, as far as they were measured.
    ///   - isMeasuring: whether the links of all others will be measured by what is sent first.
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
