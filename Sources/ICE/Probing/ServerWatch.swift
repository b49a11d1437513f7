package import Time

/// Decides when STUN and TURN servers are probed, and which results are reported. Sans-IO.
///
/// Each server is probed at first, after a change of the network, and after a reason to doubt its last result. A failed
/// one is probed again every five minutes, unless its login may have expired by then.
package struct ServerWatch: Sendable {
    private struct Server {
        /// Nil before a result.
        var result: ServerProbe.Result?
        /// When it became so.
        var since: Instant
        var isProbed = false
        /// When its last probe began; nil before the first.
        var probedAt: Instant?
        /// When the next one begins; nil for none.
        var dueAt: Instant?
    }

    private static let retryInterval = Duration.seconds(300)
    /// The shortest time between two probes out of doubt.
    private static let doubtInterval = Duration.seconds(10)

    private var servers: [Server]
    private let repeats: Bool

    /// - Parameters:
    ///   - known: earlier results for each server, and when they became so; nil for none. The servers have numbers from
    ///     0 on.
    ///   - repeats: whether a failed one is probed again.
    package init(_ known: [(result: ServerProbe.Result, since: Instant)?], repeats: Bool = true, now: Instant) {
        servers = known.map { Server(result: $0?.result, since: $0?.since ?? now, dueAt: now) }
        self.repeats = repeats
    }

    /// When `takeDue` has something to return; nil if only an event can change that.
    package var deadline: Instant? { servers.lazy.filter { !$0.isProbed }.compactMap(\.dueAt).min() }

    package mutating func takeDue(at now: Instant) -> [Int] {
        let due = servers.indices.filter { index in
            !servers[index].isProbed && servers[index].dueAt.map { $0 <= now } ?? false
        }
        for index in due { (servers[index].isProbed, servers[index].dueAt, servers[index].probedAt) = (true, nil, now) }
        return due
    }

    /// Records the end of a server's probe.
    ///
    /// - Parameter result: nil if this machine could not ask.
    /// - Returns: whether to report it: a failure that was not reported yet, or a success after one.
    package mutating func note(_ result: ServerProbe.Result?, of index: Int, at now: Instant) -> Bool {
        let before = servers[index].result
        servers[index].isProbed = false
        if result != .works, repeats { servers[index].dueAt = servers[index].dueAt ?? now + Self.retryInterval }
        guard let result, result != before else { return false }
        (servers[index].result, servers[index].since) = (result, now)
        return before != nil || result != .works
    }

    /// The machine's addresses or routes have changed. Probes under way begin again.
    package mutating func networkChanged(at now: Instant) {
        for index in servers.indices { servers[index].dueAt = now }
    }

    /// A client has waited for a server in vain, or does without one.
    package mutating func doubt(at now: Instant) {
        for index in servers.indices where !servers[index].isProbed {
            let soonest = servers[index].probedAt.map { max(now, $0 + Self.doubtInterval) } ?? now
            servers[index].dueAt = earliest(servers[index].dueAt, soonest)
        }
    }

    /// The result of a server's last probe, and when it became so; nil for none.
    package subscript(index: Int) -> (result: ServerProbe.Result, since: Instant)? {
        servers[index].result.map { ($0, servers[index].since) }
    }
}

extension ServerProbe.Result {
    /// Whether clients of such a server wait in vain.
    package var isSilence: Bool {
        switch self {
        case .noAnswer, .unreachable, .otherProtocol: true
        case .works, .wrongLogin, .refused: false
        }
    }
}
