package import Time

/// One client's session on an Engine.IO server: its transport, its upgrade from polling to a WebSocket, and its
/// heartbeat. Sans-IO: after each call, perform the actions of `takeOutputs`, and call `tick` when `nextDeadline`
/// comes.
package struct EngineSession: Sendable {
    package struct Settings: Sendable {
        /// The interval of the server's pings, and how long it waits for the answer.
        package var pingInterval = Duration.seconds(25)
        package var pingTimeout = Duration.seconds(20)
        /// A WebSocket that takes longer to take over is closed.
        package var upgradeTimeout = Duration.seconds(10)
        /// Bytes of a message, and of the body of a request.
        package var maxPayload = 1_000_000
        /// Bytes that may wait for a client's next request. A session with more is ended.
        package var mostWaiting = 4_000_000

        package init() {}
    }

    package enum Output: Sendable, Equatable {
        /// Ends a held GET with the body.
        case answer(poll: UInt64, body: [UInt8])
        /// Ends a GET as a bad request.
        case refuse(poll: UInt64)
        case send(EngineMessage, socket: UInt64)
        case close(socket: UInt64)
        case received(EngineMessage)
        /// The last output.
        case ended(End)
    }

    /// The reason why a session ended.
    package enum End: Sendable {
        case closedByClient
        case closedByServer
        case connectionLost
        case protocolViolated
        /// No answer to a ping.
        case silent
        /// Too much waited for the client.
        case slow
        /// The client sent too much.
        case flooded
        /// The client did not use the session in time.
        case unused
    }

    private enum Transport {
        case polling(poll: UInt64?, candidate: Candidate?)
        case webSocket(UInt64)
        case ended
    }

    /// A WebSocket that may take over.
    private struct Candidate {
        var socket: UInt64
        var deadline: Instant
        /// Whether it has proved that it works.
        var isProbed = false
    }

    private enum Heartbeat {
        case pingAt(Instant)
        case pongBy(Instant)

        var deadline: Instant {
            switch self {
            case .pingAt(let instant), .pongBy(let instant): instant
            }
        }
    }

    package let sid: String
    private let settings: Settings
    private var transport: Transport
    private var heartbeat: Heartbeat
    private var waiting = WaitingPackets()
    /// When the session ends in any case; nil for never.
    private var expiry: Instant?
    private var outputs: [Output] = []

    /// Opens a session by a GET, which waits for the handshake.
    package init(sid: String, settings: Settings, poll: UInt64, now: Instant) {
        self.init(sid: sid, settings: settings, over: .polling(poll: nil, candidate: nil), now: now)
        self.poll(poll)
    }

    /// Opens a session by a WebSocket.
    package init(sid: String, settings: Settings, socket: UInt64, now: Instant) {
        self.init(sid: sid, settings: settings, over: .webSocket(socket), now: now)
    }

    private init(sid: String, settings: Settings, over transport: Transport, now: Instant) {
        (self.sid, self.settings, self.transport) = (sid, settings, transport)
        heartbeat = .pingAt(now + settings.pingInterval)
        var handshake = EngineHandshake(
            sid: sid,
            upgrades: ["websocket"],
            pingInterval: Int(settings.pingInterval / .milliseconds(1)),
            pingTimeout: Int(settings.pingTimeout / .milliseconds(1)),
            maxPayload: settings.maxPayload
        )
        if case .webSocket = transport { handshake.upgrades = [] }
        send(.open(handshake))
    }

    /// Bytes kept until the client takes them.
    var waitingSize: Int { waiting.size }

    package var isEnded: Bool {
        if case .ended = transport { true } else { false }
    }

    /// Whether requests of polling belong to the session now.
    package var isPolling: Bool {
        if case .polling = transport { true } else { false }
    }

    /// When `tick` has something to do; nil when the session is over.
    package var nextDeadline: Instant? {
        let candidate: Instant? = if case .polling(_, let candidate?) = transport { candidate.deadline } else { nil }
        return isEnded ? nil : earliest(heartbeat.deadline, candidate, expiry)
    }

    package mutating func takeOutputs() -> [Output] { exchange(&outputs, with: []) }

    // MARK: - Actions of the client

    /// Receives a GET. It is answered once there is something to send.
    package mutating func poll(_ poll: UInt64) {
        switch transport {
        case .polling(nil, let candidate):
            transport = .polling(poll: poll, candidate: candidate)
            if waiting.isEmpty, candidate?.isProbed ?? false { releasePoll() } else { flush() }
        case .polling:
            outputs.append(.refuse(poll: poll))
            end(.protocolViolated)
        case .webSocket, .ended:
            outputs.append(.refuse(poll: poll))
        }
    }

    /// Answers the held GET with nothing.
    package mutating func releasePoll() {
        guard case .polling(let poll?, let candidate) = transport else { return }
        outputs.append(.answer(poll: poll, body: EnginePayload.body(of: [.noop])))
        transport = .polling(poll: nil, candidate: candidate)
    }

    /// Drops a held GET that the client gave up.
    package mutating func abort(poll: UInt64) {
        guard case .polling(poll, let candidate) = transport else { return }
        transport = .polling(poll: nil, candidate: candidate)
        end(.connectionLost)
    }

    /// Receives a POST. Returns whether it is in order; otherwise the session is over.
    package mutating func post(_ body: [UInt8], now: Instant) -> Bool {
        guard case .polling = transport, body.count <= settings.maxPayload,
            let packets = EnginePayload.packets(of: body), packets.allSatisfy(\.isOfClient)
        else {
            end(.protocolViolated)
            return false
        }
        for packet in packets { receive(packet, now: now) }
        return true
    }

    /// Adds a WebSocket that names this session. It may take over from polling, once.
    package mutating func open(socket: UInt64, now: Instant) {
        guard case .polling(let poll, nil) = transport else { return outputs.append(.close(socket: socket)) }
        let candidate = Candidate(socket: socket, deadline: now + settings.upgradeTimeout)
        transport = .polling(poll: poll, candidate: candidate)
    }

    package mutating func receive(_ frame: EngineMessage, on socket: UInt64, now: Instant) {
        switch transport {
        case .webSocket(socket):
            guard frame.size <= settings.maxPayload, let packet = EnginePacket(frame: frame) else {
                return end(.protocolViolated)
            }
            receive(packet, now: now)
        case .polling(let poll, let candidate?) where candidate.socket == socket:
            receive(frame, on: candidate, poll: poll)
        default: break
        }
    }

    private mutating func receive(_ frame: EngineMessage, on candidate: Candidate, poll: UInt64?) {
        switch EnginePacket(frame: frame) {
        case .ping(EnginePacket.probe)? where !candidate.isProbed:
            var candidate = candidate
            candidate.isProbed = true
            transport = .polling(poll: poll, candidate: candidate)
            outputs.append(.send(EnginePacket.pong(EnginePacket.probe).frame, socket: candidate.socket))
            // The client stops polling before the WebSocket takes over.
            if poll != nil { send(.noop) }
        case .upgrade? where candidate.isProbed:
            if let poll { outputs.append(.answer(poll: poll, body: EnginePayload.body(of: [.noop]))) }
            transport = .webSocket(candidate.socket)
            flush()
        default:
            transport = .polling(poll: poll, candidate: nil)
            outputs.append(.close(socket: candidate.socket))
        }
    }

    package mutating func lost(socket: UInt64) {
        switch transport {
        case .webSocket(socket):
            transport = .ended
            outputs.append(.ended(.connectionLost))
        case .polling(let poll, let candidate?) where candidate.socket == socket:
            transport = .polling(poll: poll, candidate: nil)
        default: break
        }
    }

    private mutating func receive(_ packet: EnginePacket, now: Instant) {
        if isEnded { return }
        switch packet {
        case .message(let message): outputs.append(.received(message))
        case .pong:
            if case .pongBy = heartbeat { heartbeat = .pingAt(now + settings.pingInterval) }
        case .close: end(.closedByClient)
        case .open, .ping, .upgrade, .noop: end(.protocolViolated)
        }
    }

    // MARK: - Actions of the server

    package mutating func send(_ message: EngineMessage) { send(.message(message)) }

    /// Sets when the session ends; nil for never. The last call counts.
    package mutating func expire(at instant: Instant?) { expiry = instant }

    package mutating func tick(now: Instant) {
        if let expiry, expiry <= now { return end(.unused) }
        if case .polling(let poll, let candidate?) = transport, candidate.deadline <= now {
            transport = .polling(poll: poll, candidate: nil)
            outputs.append(.close(socket: candidate.socket))
        }
        switch heartbeat {
        case .pingAt(let instant) where instant <= now:
            heartbeat = .pongBy(now + settings.pingTimeout)
            send(.ping([]))
        case .pongBy(let instant) where instant <= now: end(.silent)
        default: break
        }
    }

    private mutating func send(_ packet: EnginePacket) {
        switch transport {
        case .webSocket(let socket): outputs.append(.send(packet.frame, socket: socket))
        case .polling:
            waiting.append(packet)
            flush()
            if waiting.size > settings.mostWaiting { end(.slow) }
        case .ended: break
        }
    }

    private mutating func flush() {
        guard !waiting.isEmpty else { return }
        switch transport {
        case .polling(let poll?, let candidate):
            outputs.append(.answer(poll: poll, body: EnginePayload.body(of: waiting.takeAnswer())))
            transport = .polling(poll: nil, candidate: candidate)
        case .webSocket(let socket):
            for packet in waiting.takeAll() { outputs.append(.send(packet.frame, socket: socket)) }
        case .polling, .ended: return
        }
    }

    /// Ends the session. The client learns of it by any transport that it has.
    package mutating func end(_ reason: End) {
        switch transport {
        case .polling(let poll, let candidate):
            if let poll {
                let last: EnginePacket = reason == .closedByClient ? .noop : .close
                outputs.append(.answer(poll: poll, body: EnginePayload.body(of: waiting.takeAll() + [last])))
            }
            if let candidate { outputs.append(.close(socket: candidate.socket)) }
        case .webSocket(let socket): outputs.append(.close(socket: socket))
        case .ended: return
        }
        transport = .ended
        waiting = WaitingPackets()
        outputs.append(.ended(reason))
    }
}
