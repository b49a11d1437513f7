package import Time

/// Asks one STUN or TURN server whether it serves this machine: by a binding (RFC 8489 §2), or by an allocation (RFC
/// 8656 §7), which is released as soon as it is granted. Sans-IO.
///
/// Give it the server's bytes and the time, and send the result of `takeOutput`. Once there is a result, continue until
/// it is over: a relay has yet to release its allocation.
package struct ServerProbe: Sendable {
    package enum Result: Equatable, Sendable {
        case works
        /// No answer comes, or there is no server.
        case noAnswer
        /// There is no path to it, with a sentence of the layer that failed.
        case unreachable(why: String)
        /// The answer is not one of such a server.
        case otherProtocol
        /// It refuses this login.
        case wrongLogin
        /// It answers with an error, 300…699, and a reason: a short line of visible ASCII, perhaps empty.
        case refused(code: Int, reason: String)
    }

    package enum Service: Sendable {
        case stun
        case turn(username: String, password: String)
    }

    private enum Step {
        case binding
        /// An allocation, before the server has sent its realm and afterwards.
        case asking, loggingIn
        case releasing
    }

    /// The server's data for a login at a TURN server (RFC 8489 §9.2).
    private struct Challenge {
        let realm: [UInt8]
        let nonce: [UInt8]

        init?(_ message: STUNMessage) {
            let texts = message.attributes.filter { $0.value.count <= STUNAttribute.textLimit }
            guard let realm = texts.first(where: { $0.type == STUNAttribute.realmType }),
                let nonce = texts.first(where: { $0.type == STUNAttribute.nonceType })
            else { return nil }
            (self.realm, self.nonce) = (realm.value, nonce.value)
        }
    }

    private struct Request {
        let transaction: [UInt8]
        let bytes: [UInt8]
        var sendCount = 1
        /// When it is sent again, or given up.
        var dueAt: Instant
    }

    /// RFC 8489 §6.2.1 doubles the first of these six times. A viewer who waits for a picture has no 32 s.
    private static let retransmissionIntervals: [Duration] = [.milliseconds(500), .seconds(1), .seconds(2)]
    /// The longest time for an answer over a stream, including the connection.
    private static let streamLimit = Duration.seconds(6)
    /// The most further nonces that a server may demand.
    private static let nonceLimit = 2
    private static let reasonLimit = 60

    private let service: Service
    private let isStream: Bool
    private var step: Step
    private var request: Request?
    private var challenge: Challenge?
    private var nonceCount = 0
    private var outputs: [[UInt8]] = []
    /// The received part of the next message of a stream.
    private var received: [UInt8] = []

    /// The result; nil until there is one. It does not change.
    package private(set) var result: Result?

    /// Begins to ask.
    ///
    /// - Parameter isStream: whether messages go over TCP, which loses none.
    package init(_ service: Service, isStream: Bool, now: Instant) {
        (self.service, self.isStream) = (service, isStream)
        switch service {
        case .stun:
            step = .binding
            send(.binding, [], at: now)
        case .turn(let username, _):
            step = .asking
            // It does not fit into a message (RFC 8489 §14.3).
            if username.utf8.count > STUNAttribute.usernameLimit {
                result = .wrongLogin
            } else {
                send(.allocate, [.udp], at: now)
            }
        }
    }

    /// Whether there is nothing left to send or to wait for.
    package var isOver: Bool { request == nil && outputs.isEmpty }

    /// When to call `tick`; nil once it is over.
    package var deadline: Instant? { request?.dueAt }

    /// The next datagram to send, or the next bytes of a stream.
    package mutating func takeOutput() -> [UInt8]? { outputs.isEmpty ? nil : outputs.removeFirst() }

    package mutating func tick(at now: Instant) {
        guard var request, request.dueAt <= now else { return }
        guard !isStream, request.sendCount < Self.retransmissionIntervals.count else { return end(.noAnswer) }
        request.dueAt = now + Self.retransmissionIntervals[request.sendCount]
        request.sendCount += 1
        self.request = request
        outputs.append(request.bytes)
    }

    /// Stops asking.
    ///
    /// - Parameter result: the result from outside, for example without a server. A result from the server itself has
    ///   precedence.
    package mutating func end(_ result: Result) {
        self.result = self.result ?? result
        request = nil
        outputs.removeAll()
    }

    /// Receives a datagram, or the next bytes of a stream.
    package mutating func receive(_ bytes: [UInt8], at now: Instant) {
        // Anybody may have sent a datagram.
        guard isStream else { return take(bytes, at: now) }
        received += bytes
        while request != nil, let size = STUNMessage.size(beginning: received) {
            if size == 0 { return end(.otherProtocol) }
            guard received.count >= size else { return }
            take(Array(received[..<size]), at: now)
            received.removeFirst(size)
        }
    }

    // MARK: - Answers

    private mutating func take(_ bytes: [UInt8], at now: Instant) {
        guard let request, let message = STUNMessage(parsing: bytes), message.transaction == request.transaction,
            message.kind == .success || message.kind == .error
        else { return }
        if message.kind == .success {
            // With a login, only a sender that knows the password can have made it.
            if let key, step != .asking, !STUNMessage.isAuthentic(bytes, key: key) { return }
            return succeed(at: now)
        }
        guard let (code, reason) = message.error else { return }
        let next = Challenge(message)
        switch (step, code) {
        // A server that only relays, or that redirects, is there.
        case (.binding, 401), (.binding, 300...399), (.asking, 300...399), (.loggingIn, 300...399): end(.works)
        case (.asking, 401) where next != nil:
            challenge = next
            step = .loggingIn
            send(.allocate, [.udp], at: now)
        // Stale nonce.
        case (.loggingIn, 438), (.releasing, 438):
            guard let next, nonceCount < Self.nonceLimit else { return end(refusal(code, reason)) }
            nonceCount += 1
            challenge = next
            if step == .releasing { release(at: now) } else { send(.allocate, [.udp], at: now) }
        // Unauthenticated, and wrong credentials.
        case (.loggingIn, 401), (.loggingIn, 441): end(.wrongLogin)
        default: end(refusal(code, reason))
        }
    }

    private mutating func succeed(at now: Instant) {
        guard step == .asking || step == .loggingIn else { return end(.works) }
        result = .works
        release(at: now)
    }

    /// A lifetime of zero ends an allocation (RFC 8656 §8).
    private mutating func release(at now: Instant) {
        step = .releasing
        send(.refresh, [.lifetime(0)], at: now)
    }

    private func refusal(_ code: Int, _ reason: [UInt8]) -> Result {
        let line = reason.prefix { $0 != 0x0A && $0 != 0x0D }.filter { 0x20...0x7E ~= $0 }.prefix(Self.reasonLimit)
        return .refused(code: code, reason: String(decoding: line, as: UTF8.self))
    }

    // MARK: - Requests

    private var key: [UInt8]? {
        guard let challenge, case .turn(let username, let password) = service else { return nil }
        return longTermKey(username: Array(username.utf8), realm: challenge.realm, password: password)
    }

    private mutating func send(_ method: STUNMessage.Method, _ attributes: [STUNAttribute], at now: Instant) {
        var message = STUNMessage(.request, method, attributes)
        if let challenge, case .turn(let username, _) = service {
            message.attributes += [
                .username(Array(username.utf8)), .realm(challenge.realm), .nonce(challenge.nonce),
            ]
        }
        let bytes = message.encoded(key: key)
        request = Request(
            transaction: message.transaction,
            bytes: bytes,
            dueAt: now + (isStream ? Self.streamLimit : Self.retransmissionIntervals[0])
        )
        outputs.append(bytes)
    }
}
