import RTP

/// Tells from refused datagrams (ICMP port unreachable) whether anybody listens on the receiver's port.
///
/// A refusal says that nobody does. While that is so a probe goes out now and then, even if no picture does; silence
/// after a probe or a packet says that somebody came. Instants are nanoseconds of the capture clock.
struct ListenerWatch {
    enum Event { case probe, appeared }

    private enum State {
        case listening
        /// Refused at an instant; since then sent to at the other.
        case refused(at: UInt64, sentAt: UInt64?)
    }

    /// Between a refusal and the next probe.
    private let probeInterval: UInt64
    /// Without a refusal, until somebody is taken to listen.
    private let silence: UInt64
    private var state = State.listening

    /// - Parameter refusalsAreLimited: whether some refusals may be missing. Hosts send no more than about one a second
    ///   over a network (RFC 1812 §4.3.2.8), but all of them over the loopback.
    init(refusalsAreLimited: Bool) {
        probeInterval = refusalsAreLimited ? 1_000_000_000 : 250_000_000
        silence = refusalsAreLimited ? 1_500_000_000 : 50_000_000
    }

    var isListening: Bool {
        if case .listening = state { true } else { false }
    }

    mutating func refused(at now: UInt64) { state = .refused(at: now, sentAt: nil) }

    mutating func sent(at now: UInt64) {
        if case .refused(let refusal, nil) = state { state = .refused(at: refusal, sentAt: now) }
    }

    /// The receiver said something. Returns whether that is news.
    mutating func heard() -> Bool {
        defer { state = .listening }
        return !isListening
    }

    var nextDeadline: UInt64? {
        switch state {
        case .listening: nil
        case .refused(_, let sentAt?): sentAt.adding(clamped: silence)
        case .refused(let refusal, nil): refusal.adding(clamped: probeInterval)
        }
    }

    /// What to do when the deadline has come. A probe must be followed by `sent(at:)`.
    mutating func poll(at now: UInt64) -> Event? {
        guard let nextDeadline, now >= nextDeadline else { return nil }
        if case .refused(_, nil) = state { return .probe }
        state = .listening
        return .appeared
    }
}
