import Time

/// Finds out from refused datagrams (ICMP port unreachable) whether a program listens on the receiver's port.
///
/// After a refusal, none does. From then on probes are sent now and then, even without a picture. If no refusal follows a probe or a
/// packet, a listener has come.
struct ListenerWatch {
    enum Event { case probe, appeared }

    private enum State {
        case listening
        /// A datagram was refused at the first instant. The next one was sent at the second; nil before that.
        case refused(at: Instant, sentAt: Instant?)
    }

    /// The time between a refusal and the next probe.
    private let probeInterval: Duration
    /// The time without a refusal after a datagram that means a listener.
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

    /// The event that is due. After a probe, call `sent(at:)`.
    mutating func poll(at now: Instant) -> Event? {
        guard let nextDeadline, now >= nextDeadline else { return nil }
        if case .refused(_, nil) = state { return .probe }
        state = .listening
        return .appeared
    }
}
