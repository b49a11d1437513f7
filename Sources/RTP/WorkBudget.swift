package import Time

/// How much work one peer may make for a thread that all peers share: a token bucket, in bytes that come from the peer. A datagram
/// beyond it is dropped unread, as on a lossy path.
///
/// Bytes measure the work because nothing that a peer sends costs more than in proportion to them: no list in a packet is longer than
/// the packet, and no step takes longer the more waits.
package struct WorkBudget: Sendable {
    /// Bytes that cost as much as a datagram itself does, which is received, checked and decrypted.
    static let overhead = 1000

    private var bucket: Pacer

    /// - Parameter sendsVideo: whether the peer's pictures are taken. Feedback and a voice take less than a tenth of what they do.
    package init(sendsVideo: Bool) {
        // 1,200 datagrams of feedback a second at the most, or 55 Mb/s of pictures.
        bucket = Pacer(
            pace: sendsVideo
                ? Pacer.Pace(rate: 100_000_000, burst: 8_000_000) : Pacer.Pace(rate: 12_000_000, burst: 1_500_000)
        )
    }

    /// Takes a datagram that has come into account, and tells whether it may be read.
    package mutating func take(datagramOf size: Int, at now: Instant) -> Bool {
        let cost = size + Self.overhead
        guard bucket.earliest(forPacketOf: cost) <= now else { return false }
        bucket.note(packetOf: cost, at: now)
        return true
    }
}
