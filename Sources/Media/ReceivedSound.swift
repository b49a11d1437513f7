package import Time

/// A packet of Opus from a peer. Packets may be missing, come twice, and overtake each other.
package struct ReceivedSound: Equatable, Sendable {
    /// The number of its RTP packet.
    package let sequenceNumber: UInt16
    /// When its first sample was heard, in ticks of 48 kHz from any beginning, modulo 2³².
    package let timestamp: UInt32
    package let arrivedAt: Instant
    /// Its level according to the peer, in decibels below the loudest, 0 to 127 (RFC 6464); nil if unknown.
    package let level: UInt8?
    /// The payload, untrusted; never empty.
    package let bytes: [UInt8]

    /// Whether the talker is quiet. The next packet may come late then, and the noise before goes on (RFC 6716 §2.1.9).
    package var isQuiet: Bool { bytes.count <= 2 }

    package init(sequenceNumber: UInt16, timestamp: UInt32, arrivedAt: Instant, level: UInt8? = nil, bytes: [UInt8]) {
        (self.sequenceNumber, self.timestamp, self.level) = (sequenceNumber, timestamp, level)
        (self.arrivedAt, self.bytes) = (arrivedAt, bytes)
    }
}

/// Receives the sound of any number of peers at once.
package protocol SoundReceiver: AnyObject, Sendable {
    /// Receives a packet, and does not wait.
    ///
    /// - Parameter packet: of a stream that begins with the first packet of its peer.
    func receive(_ packet: ReceivedSound, from peer: ParticipantID)
}
