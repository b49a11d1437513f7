/// Counts of one stream to one peer, and the peer's reports.
package struct StreamStatistics: Equatable, Sendable {
    package internal(set) var frames: UInt64 = 0
    package internal(set) var packets: UInt64 = 0
    /// Payload bytes, without retransmissions.
    package internal(set) var bytes: UInt64 = 0
    package internal(set) var retransmissions: UInt64 = 0
    /// NACK messages received.
    package internal(set) var nacks: UInt64 = 0
    /// Picture loss indications and new full intra requests received, and the stream's own requests.
    package internal(set) var keyframeRequests: UInt64 = 0
    /// How often the stream continued at a later keyframe because its packets had waited too long.
    package internal(set) var skips: UInt64 = 0
    /// 0…1, from the last report.
    package internal(set) var lossFraction: Double?
    package internal(set) var packetsLost: Int32?
    /// The variation of the packets' spacing (RFC 3550 §6.4.1), from the last report.
    package internal(set) var jitter: Duration?

    package init() {}
}
