import Time

/// What a plain RTP session did and what its receiver says of it.
package struct PlainRTPStatistics: Equatable, Sendable {
    /// Pictures taken, and those refused because the queue was full.
    package var pictures: UInt64 = 0
    package var picturesDropped: UInt64 = 0
    package var keyframes: UInt64 = 0
    /// RTP packets put into the queue, and their bytes with RTP headers.
    package var packets: UInt64 = 0
    package var bytes: UInt64 = 0
    /// Packets the system would not send.
    package var packetsFailed: UInt64 = 0
    /// PLI and FIR received, repetitions of FIR not counted, and wishes of the session itself.
    package var keyframeRequests: UInt64 = 0
    /// RTCP datagrams that made no sense.
    package var malformedFeedback: UInt64 = 0
    /// False while the receiver's host refuses packets.
    package var receiverListening = true
    /// The receiver's last report; nil before the first.
    package var report: ReceiverView?

    package struct ReceiverView: Equatable, Sendable {
        /// Of the packets since the report before, 0…1.
        package var lossFraction: Double
        /// Over the whole session; duplicates count as negative.
        package var packetsLost: Int32
        /// By how much the spacing of packets varies.
        package var jitter: Duration
        /// There and back; nil until the receiver answers a sender report.
        package var roundTripTime: Duration?
    }
}
