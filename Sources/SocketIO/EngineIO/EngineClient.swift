package import Time

/// One session of an Engine.IO client. It opens over a WebSocket, or by polling if none can be opened, and answers the
/// server's pings. Sans-IO: after each call, perform the actions of `takeOutputs`, and call `tick` when `nextDeadline`
/// comes.
///
/// There is one GET and one POST at a time, or one WebSocket.
package struct EngineClient: Sendable {
    /// An action on requests or the WebSocket.
    package enum Action: Sendable, Equatable {
        case openSocket
        case send(EngineMessage)
        case closeSocket
        case get(sid: String?)
        case post(sid: String, [UInt8])
        /// Gives up waiting for answers. Posted data shall still arrive.
        case cancelRequests
    }

    package enum Output: Sendable, Equatable {
        case transport(Action)
        case opened
        case received(EngineMessage)
        /// The last output.
        case ended(End)
    }

    /// The reason why a session ended, or never began.
    package enum End: Sendable, Equatable {
        case closedByClient
        case closedByServer
        case connectionLost
        case protocolViolated
        /// The server stopped sending pings.
        case silent
        /// The server did not open a session in time.
        case notOpened
        /// The server refused a request with an HTTP status, or could not be reached.
        case refused(status: Int)
        case unreachable(String)
    }

    private struct Polling {
        var isGetting = false
        var isPosting = false
    }

    private enum State {
        case openingSocket
        case openingByPoll
        case polling(Polling)
        case webSocket
        case ended
    }

    private static let openTimeout = Duration.seconds(20)

    private var state = State.openingSocket
    private var handshake: EngineHandshake?
    package private(set) var nextDeadline: Instant?
    private var waiting: [EnginePacket] = []
    private var outputs: [Output] = [.transport(.openSocket)]

    package init(now: Instant) { nextDeadline = now + Self.openTimeout }

    package mutating func takeOutputs() -> [Output] { exchange(&outputs, with: []) }

    // MARK: - Actions of the user

    package mutating func send(_ message: EngineMessage) { send(.message(message)) }

    package mutating func close() {
        if case .webSocket = state { act(.send(EnginePacket.close.frame)) }
        // Beside another POST it is out of order, which ends the session too.
        if case .polling = state, let sid = handshake?.sid {
            act(.post(sid: sid, EnginePayload.body(of: waiting + [.close])))
        }
        end(.closedByClient)
    }

    package mutating func tick(now: Instant) {
        guard let nextDeadline, nextDeadline <= now else { return }
        switch state {
        case .openingSocket, .openingByPoll: end(.notOpened)
        case .polling, .webSocket: end(.silent)
        case .ended: break
        }
    }

    /// Accounts for a suspend of the machine: its clock stood still, and the server's did not. Deadlines of the server
    /// that passed meanwhile have failed. Call `tick` afterwards.
    package mutating func slept(for time: Duration) { nextDeadline = nextDeadline.map { $0 - time } }

    // MARK: - Events of the WebSocket

    package mutating func socketFailed() {
        guard case .openingSocket = state else { return }
        state = .openingByPoll
        act(.get(sid: nil))
    }

    package mutating func socketLost() {
        switch state {
        case .openingSocket, .webSocket: end(.connectionLost)
        case .openingByPoll, .polling, .ended: break
        }
    }

    package mutating func receive(_ frame: EngineMessage, now: Instant) {
        let packet = EnginePacket(frame: frame)
        switch (state, packet) {
        case (.openingSocket, .open(let handshake)?):
            state = .webSocket
            open(handshake, now: now)
        case (.webSocket, let packet?): receive(packet, now: now)
        case (.openingSocket, _), (.webSocket, nil): end(.protocolViolated)
        case (.openingByPoll, _), (.polling, _), (.ended, _): break
        }
    }

    // MARK: - Events of requests

    /// - Parameter status: of HTTP.
    package mutating func getAnswered(status: Int, _ body: [UInt8], now: Instant) {
        switch state {
        case .openingByPoll:
            guard status == 200 else { return end(.refused(status: status)) }
            guard let packets = EnginePayload.packets(of: body), case .open(let handshake)? = packets.first else {
                return end(.protocolViolated)
            }
            state = .polling(Polling())
            open(handshake, now: now)
            receive(packets.dropFirst(), now: now)
        case .polling(var polling):
            polling.isGetting = false
            state = .polling(polling)
            guard status == 200 else { return end(status == 400 ? .closedByServer : .refused(status: status)) }
            guard let packets = EnginePayload.packets(of: body) else { return end(.protocolViolated) }
            receive(packets[...], now: now)
        case .openingSocket, .webSocket, .ended: return
        }
        request()
    }

    package mutating func postAnswered(status: Int) {
        guard case .polling(var polling) = state else { return }
        polling.isPosting = false
        state = .polling(polling)
        guard status == 200 else { return end(.refused(status: status)) }
        request()
    }

    /// A request failed without an answer.
    package mutating func requestFailed(_ reason: String) {
        switch state {
        case .openingByPoll: end(.unreachable(reason))
        case .polling: end(.connectionLost)
        case .openingSocket, .webSocket, .ended: break
        }
    }

    // MARK: - Common

    private mutating func act(_ action: Action) { outputs.append(.transport(action)) }

    private mutating func open(_ handshake: EngineHandshake, now: Instant) {
        self.handshake = handshake
        waitForPing(now)
        outputs.append(.opened)
    }

    private mutating func waitForPing(_ now: Instant) {
        guard let handshake else { return }
        nextDeadline = now + .milliseconds(handshake.pingInterval + handshake.pingTimeout)
    }

    private mutating func receive(_ packets: ArraySlice<EnginePacket>, now: Instant) {
        for packet in packets { receive(packet, now: now) }
    }

    private mutating func receive(_ packet: EnginePacket, now: Instant) {
        if case .ended = state { return }
        switch packet {
        case .message(let message): outputs.append(.received(message))
        case .ping(let word):
            waitForPing(now)
            send(.pong(word))
        case .close: end(.closedByServer)
        case .noop: break
        case .open, .pong, .upgrade: end(.protocolViolated)
        }
    }

    private mutating func send(_ packet: EnginePacket) {
        switch state {
        case .webSocket: act(.send(packet.frame))
        case .polling:
            waiting.append(packet)
            request()
        case .openingSocket, .openingByPoll, .ended: break
        }
    }

    /// Makes the requests that are due.
    private mutating func request() {
        guard case .polling(var polling) = state, let handshake else { return }
        if !polling.isGetting {
            polling.isGetting = true
            act(.get(sid: handshake.sid))
        }
        if !polling.isPosting, !waiting.isEmpty {
            polling.isPosting = true
            act(.post(sid: handshake.sid, takeBody(atMost: handshake.maxPayload ?? .max)))
        }
        state = .polling(polling)
    }

    /// As many packets as the server takes at once, but at least one.
    private mutating func takeBody(atMost limit: Int) -> [UInt8] {
        var (count, size) = (0, 0)
        for packet in waiting {
            size += EnginePayload.size(of: packet) + 1
            if count > 0, size > limit { break }
            count += 1
        }
        defer { waiting.removeFirst(count) }
        return EnginePayload.body(of: waiting.prefix(count))
    }

    private mutating func end(_ end: End) {
        switch state {
        case .ended: return
        case .openingSocket, .webSocket: act(.closeSocket)
        case .openingByPoll, .polling: act(.cancelRequests)
        }
        state = .ended
        (nextDeadline, waiting) = (nil, [])
        outputs.append(.ended(end))
    }
}
