/// Judges by a peer's regular reports on all streams whether what is sent still reaches it. Sans-IO: instants are nanoseconds of the
/// capture clock.
///
/// ICE's own checks (RFC 7675) tell that there is a peer, not that media arrive: one that moved to another network
/// may go on to answer from there while its packets go to the old one (RFC 8083 §4.2).
struct Reachability: Sendable {
    /// A peer that has reported regularly, and then sends no RTCP for this long, is gone; as long as consent lasts (RFC 7675
    /// §5.1).
    static let silenceLimit: UInt64 = 30_000_000_000
    /// Who reports for this long that nothing more arrives will not see it come: three intervals of RFC 3550.
    static let starvationLimit: UInt64 = 15_000_000_000
    /// Fewer packets than these may all have been lost.
    private static let fewestPackets: UInt64 = 4
    /// Some peers report once or never, and some on each stream by itself.
    private static let fewestReportsOfEachStream = 2

    /// What was told of one stream.
    private struct Progress {
        var highest: UInt32
        /// Packets that had been sent when `highest` last moved.
        var sentThen: UInt64
    }

    private let fewestReports: Int
    private var reportCount = 0
    private var reportedAt: UInt64 = 0
    private var heardAt: UInt64 = 0
    /// By SSRC.
    private var progress: [UInt32: Progress] = [:]
    private var starvingSince: UInt64?

    init(streamCount: Int = 1) { fewestReports = Self.fewestReportsOfEachStream * streamCount }

    /// A regular report came, whatever it speaks of.
    mutating func noteReport(now: UInt64) {
        reportCount += 1
        reportedAt = now
        noteFeedback(now: now)
    }

    /// What the report that came tells of a stream. The peer starves while no stream moves that something was sent in.
    ///
    /// - Parameters:
    ///   - highest: the highest sequence number that arrived, extended.
    ///   - packetsSent: in the stream so far.
    mutating func noteArrival(in ssrc: UInt32, highest: UInt32, packetsSent: UInt64, now: UInt64) {
        if let known = progress[ssrc], known.highest == highest {
            if packetsSent >= known.sentThen + Self.fewestPackets { starvingSince = starvingSince ?? now }
        } else {
            progress[ssrc] = Progress(highest: highest, sentThen: packetsSent)
            starvingSince = nil
        }
    }

    /// Feedback of any kind came. A peer that asks for one keyframe after the other may not get to report (RFC 4585 §3.5.3:
    /// early feedback puts off the next regular packet).
    mutating func noteFeedback(now: UInt64) { heardAt = now }

    func isLost(at now: UInt64) -> Bool {
        if let starvingSince, reportedAt >= starvingSince.adding(clamped: Self.starvationLimit) { return true }
        return deadline.map { now >= $0 } ?? false
    }

    /// When the peer is lost if it stays silent; nil if it need not say anything.
    var deadline: UInt64? {
        reportCount >= fewestReports ? heardAt.adding(clamped: Self.silenceLimit) : nil
    }
}
