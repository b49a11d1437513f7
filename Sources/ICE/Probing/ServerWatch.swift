package import Time

/// When STUN and TURN servers are probed, and which result is news. Sans-IO.
///
/// Each server is probed at first, when the network has changed, and when there is a reason to doubt what is known of it. One that failed
/// is probed again every five minutes, unless its login may have ended by then.
package struct ServerWatch: Sendable {
    private struct Server {
        /// Nil while nothing is known.
        var result: ServerProbe.Result?
        /// Since when it has been the same.
        var since: Instant
        var isProbed = false
        /// When its last probe began; nil before the first.
        var probedAt: Instant?
        /// When the next one begins; nil for none.
        var dueAt: Instant?
    }

    private static let retryInterval = Duration.seconds(300)
    /// Between two probes for which nothing but doubt is the reason.
    private static let doubtInterval = Duration.seconds(10)

    private var servers: [Server]
    private let repeats: Bool

    /// - Parameters:
    ///   - known: what earlier probes have shown of each server, and since when it has been so; nil for nothing. The servers have numbers
    ///     from 0 on.
    ///   - repeats: whether one that failed is probed again.
    package init(_ known: [(result: ServerProbe.Result, since: Instant)?], repeats: Bool = true, now: Instant) {
        servers = known.map { Server(result: $0?.result, since: $0?.since ?? now, dueAt: now) }
        self.repeats = repeats
    }

    /// When `takeDue` has something to return; nil if only an event changes that.
    package var deadline: Instant? { servers.lazy.filter { !$0.isProbed }.compactMap(\.dueAt).min() }

    /// The servers whose probes begin now.
    package mutating func takeDue(at now: Instant) -> [Int] {
        let due = servers.indices.filter { index in
            !servers[index].isProbed && servers[index].dueAt.map { $0 <= now } ?? false
        }
        for index in due { (servers[index].isProbed, servers[index].dueAt, servers[index].probedAt) = (true, nil, now) }
        return due
    }

    /// The probe of a server is over.
    ///
    /// - Parameter result: nil if this machine could not ask.
    /// - Returns: whether people are to be told: it failed in a way that they do not know, or works again.
    package mutating func note(_ result: ServerProbe.Result?, of index: Int, at now: Instant) -> Bool {
        let before = servers[index].result
        servers[index].isProbed = false
        if result != .works, repeats { servers[index].dueAt = servers[index].dueAt ?? now + Self.retryInterval }
        guard let result, result != before else { return false }
        (servers[index].result, servers[index].since) = (result, now)
        return before != nil || result != .works
    }

    /// The machine's addresses or routes are others. What is asked just now is asked again.
    package mutating func networkChanged(at now: Instant) {
        for index in servers.indices { servers[index].dueAt = now }
    }

    /// Somebody has waited for a server in vain, or does without one.
    package mutating func doubt(at now: Instant) {
        for index in servers.indices where !servers[index].isProbed {
            let soonest = servers[index].probedAt.map { max(now, $0 + Self.doubtInterval) } ?? now
            servers[index].dueAt = earliest(servers[index].dueAt, soonest)
        }
    }

    /// What the last probe of a server has shown, and since when it has been so; nil where nothing is known.
    package subscript(index: Int) -> (result: ServerProbe.Result, since: Instant)? {
        servers[index].result.map { ($0, servers[index].since) }
    }
}

extension ServerProbe.Result {
    /// Whether whoever asks such a server waits in vain.
    package var isSilence: Bool {
        switch self {
        case .noAnswer, .unreachable, .otherProtocol: true
        case .works, .wrongLogin, .refused: false
        }
    }
}
