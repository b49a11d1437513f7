import Time

/// Tells from refused datagrams (ICMP port unreachable) whether anybody listens on the receiver's port.
///
/// A refusal says that nobody does. While that is so a probe goes out now and then, even if no picture does; silence
/// after a probe or a packet says that somebody came.
struct ListenerWatch {
    enum Event { case probe, appeared }

    private enum State {
        case listening
        /// Refused at an instant; since then sent to at the other.
        case refused(at: Instant, sentAt: Instant?)
    }

    /// Between a refusal and the next probe.
    private let probeInterval: Duration
    /// Without a refusal, until somebody is taken to listen.
    private let silence: Duration
    private var state = State.listening

    /// - Parameter refusalsAreLimited: whether some refusals may be missing. Hosts send no more than about one a second
    ///   over a network (RFC 1812 §4.3.2.8), but all of them over the loopback.
    init(refusalsAreLimited: Bool) {
        probeInterval = refusalsAreLimited ? .seconds(1) : .milliseconds(250)
        silence = refusalsAreLimited ? .milliseconds(1500) : .milliseconds(50)
    }

    var isListening: Bool {
        if case .listening = state { true } else { false }
    }

    mutating func refused(at now: Instant) { state = .refused(at: now, sentAt: nil) }

    mutating func sent(at now: Instant) {
        if case .refused(let refusal, nil) = state { state = .refused(at: refusal, sentAt: now) }
    }

    /// The receiver said something. Returns whether that is news.
    mutating func heard() -> Bool {
        defer { state = .listening }
        return !isListening
    }

    var nextDeadline: Instant? {
        switch state {
        case .listening: nil
        case .refused(_, let sentAt?): sentAt + silence
        case .refused(let refusal, nil): refusal + probeInterval
        }
    }

    /// What to do when the deadline has come. A probe must be followed by `sent(at:)`.
    mutating func poll(at now: Instant) -> Event? {
        guard let nextDeadline, now >= nextDeadline else { return nil }
        if case .refused(_, nil) = state { return .probe }
        state = .listening
        return .appeared
    }
}
