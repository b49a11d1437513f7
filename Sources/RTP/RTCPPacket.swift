/// One packet of an RTCP datagram (RFC 3550 §6, RFC 4585 §6, RFC 5104 §4.3).
package enum RTCPPacket: Equatable, Sendable {
    case senderReport(SenderReport)
    case receiverReport(ReceiverReport)
    /// The sources that leave, at most 31 (RFC 3550 §6.6). The reason, if given, is skipped.
    case goodbye([UInt32])
    case pictureLoss(PictureLossIndication)
    case fullIntra(FullIntraRequest)
    case genericNACK(GenericNACK)
    case transportFeedback(TransportFeedback)
    /// The receiver's own estimate of its link, in bits a second of all streams together
    /// (draft-alvestrand-rmcat-remb-03 §2.2).
    case maximumBitrate(Double)
}

/// A receiver's counts for one stream (RFC 3550 §6.4.1).
package struct ReportBlock: Equatable, Sendable {
    /// The stream reported on.
    package var ssrc: UInt32
    /// Packets lost since the last report, in 1/256 of those expected.
    package var fractionLost: UInt8
    /// Packets lost since the beginning, -2²³…2²³-1; duplicates count as negative loss.
    package var cumulativeLost: Int32
    /// The highest sequence number received, extended by the count of wraps in the upper half.
    package var highestSequenceNumber: UInt32
    /// Ticks of the stream's clock.
    package var jitter: UInt32
    /// The middle 32 bits of the last sender report's NTP time; 0 if none came.
    package var lastSenderReport: UInt32
    /// The time since that report came, in 1/65536 s.
    package var delaySinceLastSenderReport: UInt32

    /// The round trip of the sender report that the block answers (RFC 3550 §6.4.1, `DLSR`).
    ///
    /// Nil if it answers none, or its times are impossible.
    package func roundTripTime(arrivedAt now: NTPTime) -> Duration? {
        if lastSenderReport == 0 { return nil }
        let elapsed = now.middle &- lastSenderReport
        // Rounding may make it a tick too short. No path takes half of the 18 hours that fit in 32 bits.
        let trip = Int32(truncatingIfNeeded: elapsed &- delaySinceLastSenderReport)
        return trip < -1 ? nil : .seconds(max(trip, 0)) / 65536
    }
}

/// RFC 3550 §6.4.1.
package struct SenderReport: Equatable, Sendable {
    package var ssrc: UInt32
    package var ntpTime: NTPTime
    /// The same instant as `ntpTime`, on the stream's clock.
    package var rtpTimestamp: UInt32
    package var packetCount: UInt32
    /// Payload bytes, without headers and padding.
    package var octetCount: UInt32
    package var reports: [ReportBlock] = []
}

/// RFC 3550 §6.4.2.
package struct ReceiverReport: Equatable, Sendable {
    package var ssrc: UInt32
    package var reports: [ReportBlock]
}

/// RFC 4585 §6.3.1.
package struct PictureLossIndication: Equatable, Sendable {
    package var sender: UInt32
    /// The stream that lost a picture.
    package var media: UInt32
}

/// RFC 5104 §4.3.1.
package struct FullIntraRequest: Equatable, Sendable {
    package struct Command: Equatable, Sendable {
        /// In a received packet: the stream that shall send an intra picture.
        package var ssrc: UInt32
        /// One more for each new command, modulo 256; the same in a repetition.
        package var sequenceNumber: UInt8
    }

    package var sender: UInt32
    package var commands: [Command]
}

/// RFC 4585 §6.2.1.
package struct GenericNACK: Equatable, Sendable {
    package var sender: UInt32
    package var media: UInt32
    /// Sequence numbers of lost packets.
    package var lost: [UInt16]
}
