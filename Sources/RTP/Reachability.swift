import Time

/// Judges from a peer's regular reports on all streams whether packets still reach it.
///
/// ICE's own checks (RFC 7675) show that there is a peer, not that media arrives. A peer that moved to another network
/// may still answer from there while its packets go to the old one (RFC 8083 §4.2).
struct Reachability: Sendable {
    /// A peer that has reported regularly and then sends no RTCP for this long is gone. It equals the lifetime of
    /// consent (RFC 7675 §5.1).
    static let silenceLimit = Duration.seconds(30)
    /// After a suspend of this machine, a peer whose time is up has this long to be heard: the longest interval between
    /// its reports (RFC 3550 §6.3.1, of a session in which both send).
    static let wakingTime = Duration.seconds(7)
    /// A peer that reports no arrivals for this long is gone: three report intervals (RFC 3550 §6.2).
    static let starvationLimit = Duration.seconds(15)
    /// Fewer packets may all be lost by chance.
    private static let fewestPackets: UInt64 = 4
    /// Some peers report once or never. Some send a report for each stream.
    private static let fewestReportsOfEachStream = 2

    private let fewestReports: Int
    private var reportCount = 0
    private var reportedAt: Instant?
    /// When feedback of any kind came last.
    private(set) var heardAt: Instant?
    /// When the peer has been silent for too long.
    private var silentAt: Instant?
    /// By SSRC: the highest sequence number that arrived, and the count of sent packets when it last moved.
    private var progress: [UInt32: (highest: UInt32, sentThen: UInt64)] = [:]
    /// When the peer has starved for too long; nil while packets arrive.
    private var starvedAt: Instant?

    init(streamCount: Int = 1) { fewestReports = Self.fewestReportsOfEachStream * streamCount }

    /// Records a regular report on any stream.
    mutating func noteReport(now: Instant) {
        reportCount += 1
        reportedAt = now
        noteFeedback(now: now)
    }

    /// Records how far a stream has arrived. The peer starves while packets are sent and no stream moves.
    ///
    /// - Parameters:
    ///   - highest: the highest sequence number that arrived, extended.
    ///   - packetsSent: in the stream so far.
    mutating func noteArrival(in ssrc: UInt32, highest: UInt32, packetsSent: UInt64, now: Instant) {
        if let known = progress[ssrc], known.highest == highest {
            if packetsSent >= known.sentThen + Self.fewestPackets {
                starvedAt = starvedAt ?? now + Self.starvationLimit
            }
        } else {
            progress[ssrc] = (highest, packetsSent)
            starvedAt = nil
        }
    }

    /// Records feedback of any kind. A peer that keeps asking for keyframes may not get to report: early feedback
    /// delays the next regular packet (RFC 4585 §3.5.3).
    mutating func noteFeedback(now: Instant) {
        heardAt = now
        silentAt = now + Self.silenceLimit
    }

    /// Gives peers time after a suspend of this machine: their packets of that time were not read yet. A peer whose
    /// time is not up keeps its whole time.
    mutating func slept(for time: Duration, now: Instant) {
        guard time >= Self.silenceLimit else { return }
        silentAt = silentAt.map { max($0 - time, min($0, now + Self.wakingTime)) }
    }

    func isLost(at now: Instant) -> Bool {
        if let starvedAt, let reportedAt, reportedAt >= starvedAt { return true }
        return deadline.map { now >= $0 } ?? false
    }

    /// When the peer is lost if it stays silent; nil if it need not report.
    var deadline: Instant? { reportCount >= fewestReports ? silentAt : nil }
}
