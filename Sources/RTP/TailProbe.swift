import Time

/// Sends the last packet again while there is no feedback: no later packet would show the peer that it is lost.
///
/// This is the probe timeout of RFC 9002 §6.2, but the number of copies doubles instead of the wait: a link that loses
/// many packets in a row is past them sooner. New packets neither delay the timeout nor restart the count. An arrival
/// does both.
struct TailProbe: Sendable {
    struct Packet: Sendable, Equatable {
        /// The transport-wide number under which it left first.
        var number: UInt64
        /// The place of its stream, and its number in the history there.
        var stream: Int
        var index: UInt64
    }

    /// 31 copies in all.
    private static let mostTimeouts = 5

    /// The newest packet without feedback; nil if there is none.
    private(set) var packet: Packet?
    private var timeoutAt = Instant.start
    private var timeouts = 0
    /// Copies to send after the last timeout.
    private var copies = 0

    /// When the packet is sent again; nil if there is nothing to send, or no use in it.
    var deadline: Instant? {
        if packet == nil { return nil }
        if copies > 0 { return .start }
        return timeouts < Self.mostTimeouts ? timeoutAt : nil
    }

    /// Records a packet that leaves for the first time.
    mutating func noteSent(_ packet: Packet, timeout: Duration, at now: Instant) {
        if self.packet == nil { timeoutAt = now + timeout }
        self.packet = packet
    }

    /// Records an arrival that was not known yet.
    mutating func noteArrival(of number: UInt64, timeout: Duration, now: Instant) {
        (timeouts, copies) = (0, 0)
        timeoutAt = now + timeout
        if let packet, number >= packet.number { self.packet = nil }
    }

    /// The packet to send again now; nil for none.
    mutating func takeCopy(timeout: Duration, at now: Instant) -> Packet? {
        guard let packet, let deadline, deadline <= now else { return nil }
        if copies == 0 {
            copies = 1 << timeouts
            timeouts += 1
            timeoutAt = now + timeout
        }
        copies -= 1
        return packet
    }

    /// The path to the peer has changed: the packet is sent there at once.
    mutating func retry(at now: Instant) { (timeouts, copies, timeoutAt) = (0, 0, now) }

    /// The history of a stream is gone.
    mutating func forget(stream: Int) {
        if packet?.stream == stream { (packet, copies) = (nil, 0) }
    }
}
