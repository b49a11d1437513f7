package import Time

/// Decides when the encoder should make a keyframe, from what receivers ask for.
///
/// Picture loss indications (RFC 4585 §6.3.1) and full intra requests (RFC 5104 §4.3.1) are answered together: at most
/// one keyframe in the hold-off time. A request within it is remembered and served when it ends.
package struct KeyframeRequests: Sendable {
    /// Between two keyframes on request.
    private static let holdOff = Duration.milliseconds(300)
    private var isPending = false
    /// When the hold-off ends.
    private var earliest = Instant.start
    private var commands = FullIntraCommands()
    /// Requests that came in, repeated commands not counted.
    package private(set) var count: UInt64 = 0

    package init() {}

    /// A picture loss indication came, or the sender itself wants a keyframe.
    package mutating func request() {
        isPending = true
        count += 1
    }

    /// A full intra request came for this stream. A command with the number of the last one is a repetition.
    package mutating func request(_ sequenceNumber: UInt8, from requester: UInt32) {
        guard commands.take(sequenceNumber, from: requester) else { return }
        request()
    }

    /// A keyframe went out, on request or not: it answers all requests so far.
    package mutating func keyframeSent(at now: Instant) {
        isPending = false
        earliest = now + Self.holdOff
    }

    /// From when on a keyframe may be made that is asked for; nil while nobody asks. May lie in the past.
    package var nextDeadline: Instant? { isPending ? earliest : nil }
}

/// Tells new full intra commands from repeated ones (RFC 5104 §4.3.1.1).
struct FullIntraCommands: Sendable {
    /// The newest command of each requester, oldest requester first.
    private var newest: [(requester: UInt32, sequenceNumber: UInt8)] = []
    /// Requesters remembered, so that forged ones cannot fill the memory.
    private static let requesterLimit = 64

    /// Returns whether the command is a new one.
    mutating func take(_ sequenceNumber: UInt8, from requester: UInt32) -> Bool {
        if let known = newest.firstIndex(where: { $0.requester == requester }) {
            if newest[known].sequenceNumber == sequenceNumber { return false }
            newest.remove(at: known)
        } else if newest.count == Self.requesterLimit {
            newest.removeFirst()
        }
        newest.append((requester, sequenceNumber))
        return true
    }
}
