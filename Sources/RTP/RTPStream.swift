import Media
package import Time

/// The numbers of one outgoing stream: sequence numbers, timestamps, counts and reports (RFC 3550 §5.1, §6.4.1).
package struct RTPStream: Sendable {
    package let ssrc: UInt32
    /// Ticks a second.
    package let clockRate: Int
    /// 0…127.
    package var payloadType: UInt8
    package internal(set) var nextSequenceNumber: UInt16
    package private(set) var packetCount: UInt32 = 0
    /// Payload bytes, descriptors included, without RTP headers.
    package private(set) var octetCount: UInt32 = 0
    package internal(set) var timestampOffset: UInt32

    package init(
        ssrc: UInt32,
        payloadType: UInt8,
        clockRate: Int = VideoCodec.clockRate,
        sequenceNumber: UInt16,
        timestampOffset: UInt32
    ) {
        precondition(payloadType < 128)
        self.ssrc = ssrc
        self.clockRate = clockRate
        self.payloadType = payloadType
        nextSequenceNumber = sequenceNumber
        self.timestampOffset = timestampOffset
    }

    /// Starts with random numbers, as RFC 3550 §5.1 demands.
    package init(
        payloadType: UInt8,
        clockRate: Int = VideoCodec.clockRate,
        using random: inout some RandomNumberGenerator
    ) {
        self.init(
            ssrc: .random(in: 1 ... .max, using: &random),
            payloadType: payloadType,
            clockRate: clockRate,
            sequenceNumber: Self.firstSequenceNumber(using: &random),
            timestampOffset: .random(in: 0 ... .max, using: &random)
        )
    }

    /// In the lower half. A receiver that misses the first packets of an encrypted stream must not miss the first wrap
    /// of its numbers too (RFC 3711 §3.3.1).
    static func firstSequenceNumber(using random: inout some RandomNumberGenerator) -> UInt16 {
        .random(in: 1...0x7FFF, using: &random)
    }

    package mutating func nextHeader(timestamp: UInt32, marker: Bool) -> RTPHeader {
        defer { nextSequenceNumber &+= 1 }
        return header(nextSequenceNumber, timestamp, marker)
    }

    /// The header of a packet that has a number already.
    ///
    /// - Parameter ticks: the instant of its picture, on the stream's clock without its offset.
    package func header(sequenceNumber: UInt16, ticks: UInt64, marker: Bool) -> RTPHeader {
        header(sequenceNumber, timestampOffset &+ UInt32(truncatingIfNeeded: ticks), marker)
    }

    private func header(_ sequenceNumber: UInt16, _ timestamp: UInt32, _ marker: Bool) -> RTPHeader {
        RTPHeader(
            marker: marker,
            payloadType: payloadType,
            sequenceNumber: sequenceNumber,
            timestamp: timestamp,
            ssrc: ssrc
        )
    }

    package mutating func notePacketSent(payloadSize: Int) {
        packetCount &+= 1
        octetCount &+= UInt32(truncatingIfNeeded: payloadSize)
    }

    /// The counts at an instant, and the capture clock against the wall clock.
    package func senderReport(at now: Instant, clock: ClockReading) -> SenderReport {
        SenderReport(
            ssrc: ssrc,
            ntpTime: clock.ntpTime(at: now),
            rtpTimestamp: timestampOffset &+ UInt32(truncatingIfNeeded: Self.ticks(now, clockRate)),
            packetCount: packetCount,
            octetCount: octetCount
        )
    }

    /// An instant on a clock of this rate. Split so that nothing overflows.
    package static func ticks(_ instant: Instant, _ clockRate: Int) -> UInt64 {
        let (seconds, rest) = instant.nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        return seconds * UInt64(clockRate) + rest * UInt64(clockRate) / 1_000_000_000
    }
}
