package import Time

/// Limits one peer's work for a thread that all peers share: a token bucket of bytes from the peer. A datagram beyond
/// it is dropped unread, as on a lossy path.
///
/// Bytes measure the work, as the cost of a peer's datagrams is at most proportional to them: no list in a packet is
/// longer than the packet, and no step takes longer the more packets wait.
package struct WorkBudget: Sendable {
    /// The cost of receiving, checking and decrypting a datagram, in bytes.
    static let overhead = 1000

    private var bucket: Pacer

    /// - Parameter sendsVideo: whether the peer's pictures are received. Feedback and a voice take less than a tenth of
    ///   that.
    package init(sendsVideo: Bool) {
        // 1,200 datagrams of feedback a second at the most, or 55 Mb/s of pictures.
        bucket = Pacer(
            pace: sendsVideo
                ? Pacer.Pace(rate: 100_000_000, burst: 8_000_000) : Pacer.Pace(rate: 12_000_000, burst: 1_500_000)
        )
    }

    /// Counts a datagram, and returns whether it may be read.
    package mutating func take(datagramOf size: Int, at now: Instant) -> Bool {
        let cost = size + Self.overhead
        guard bucket.earliest(forPacketOf: cost) <= now else { return false }
        bucket.note(packetOf: cost, at: now)
        return true
    }
}
