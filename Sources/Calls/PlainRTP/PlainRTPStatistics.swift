/// Counts of a plain RTP session, and figures of its receiver.
package struct PlainRTPStatistics: Equatable, Sendable {
    /// Encoded frames taken.
    package internal(set) var frames: UInt64 = 0
    /// RTP packets sent, and their bytes with RTP headers.
    package internal(set) var packets: UInt64 = 0
    package internal(set) var bytes: UInt64 = 0
    /// Packets that the system would not send.
    package internal(set) var packetsFailed: UInt64 = 0
    /// Keyframe requests of receivers, without repetitions, and of the session itself.
    package internal(set) var keyframeRequests: UInt64 = 0
    /// RTCP datagrams that could not be read.
    package internal(set) var malformedFeedback: UInt64 = 0
    /// False while the receiver's host refuses packets.
    package internal(set) var receiverListening = true
    /// The lost part of the packets since the previous report, 0…1; nil, as the next two, before the first report.
    package internal(set) var lossFraction: Double?
    /// The variation of the packets' spacing (RFC 3550 §6.4.1).
    package internal(set) var jitter: Duration?
    /// Nil until the receiver answers a sender report.
    package internal(set) var roundTripTime: Duration?
}
