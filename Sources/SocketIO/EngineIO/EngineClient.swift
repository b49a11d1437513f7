package import Time

/// One session of an Engine.IO client. It opens over a WebSocket or by polling, upgrades from polling to a WebSocket,
/// and answers the server's pings. Sans-IO: after each call, perform the actions of `takeOutputs`, and call `tick` when
/// `nextDeadline` comes.
///
/// There is one GET and one POST at a time, and one WebSocket.
package struct EngineClient: Sendable {
    package enum Transport: Sendable {
        case webSocket, polling
    }

    /// An action on requests or the WebSocket.
    package enum Action: Sendable, Equatable {
        /// Opens a WebSocket; with a sid, to an existing session.
        case openSocket(sid: String?)
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

    /// The upgrade from polling to a WebSocket.
    private enum Upgrade {
        case none
        case opening
        /// The server has not answered yet.
        case probing
        /// The WebSocket takes over once the requests under way are over.
        case pausing
    }

    private struct Polling {
        var isGetting = false
        var isPosting = false
        var upgrade = Upgrade.none
    }

    private enum State {
        case openingSocket
        case openingByPoll
        case polling(Polling)
        case webSocket
        case ended
    }

    /// The longest time for opening a session.
    private static let openTimeout = Duration.seconds(20)
    /// The longest time for the WebSocket's answer in an upgrade.
    private static let upgradeTimeout = Duration.seconds(10)

    private let transports: [Transport]
    private var state: State
    private var handshake: EngineHandshake?
    private var deadline: Instant?
    private var upgradeDeadline: Instant?
    private var waiting: [EnginePacket] = []
    private var outputs: [Output] = []

    /// Begins to open a session.
    ///
    /// - Parameter transports: those to use. With polling first, the session upgrades to a WebSocket if the server
    ///   offers it. With the WebSocket first, it polls if none can be opened.
    package init(transports: [Transport] = [.webSocket, .polling], now: Instant) {
        precondition(!transports.isEmpty)
        self.transports = transports
        deadline = now + Self.openTimeout
        if transports[0] == .webSocket {
            state = .openingSocket
            outputs = [.transport(.openSocket(sid: nil))]
        } else {
            state = .openingByPoll
            outputs = [.transport(.get(sid: nil))]
        }
    }

    package var nextDeadline: Instant? { earliest(deadline, upgradeDeadline) }

    package mutating func takeOutputs() -> [Output] {
        defer { outputs = [] }
        return outputs
    }

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
        if let upgradeDeadline, upgradeDeadline <= now { giveUpUpgrade() }
        guard let deadline, deadline <= now else { return }
        switch state {
        case .openingSocket, .openingByPoll: end(.notOpened)
        case .polling, .webSocket: end(.silent)
        case .ended: break
        }
    }

    /// Accounts for a suspend of the machine: its clock stood still, and the server's did not. Deadlines of the server
    /// that passed meanwhile have failed. Call `tick` afterwards.
    package mutating func slept(for time: Duration) {
        deadline = deadline.map { $0 - time }
        upgradeDeadline = upgradeDeadline.map { $0 - time }
    }

    // MARK: - Events of the WebSocket

    package mutating func socketOpened() {
        guard case .polling(var polling) = state, case .opening = polling.upgrade else { return }
        polling.upgrade = .probing
        state = .polling(polling)
        act(.send(EnginePacket.ping(EnginePacket.probe).frame))
    }

    /// - Parameter end: `refused` or `unreachable`.
    package mutating func socketFailed(_ end: End) {
        switch state {
        case .openingSocket where transports.contains(.polling):
            state = .openingByPoll
            act(.get(sid: nil))
        case .openingSocket: self.end(end)
        case .polling: giveUpUpgrade()
        case .openingByPoll, .webSocket, .ended: break
        }
    }

    package mutating func socketLost() {
        switch state {
        case .openingSocket, .webSocket: end(.connectionLost)
        case .polling: giveUpUpgrade()
        case .openingByPoll, .ended: break
        }
    }

    package mutating func receive(_ frame: EngineMessage, now: Instant) {
        let packet = EnginePacket(frame: frame)
        switch (state, packet) {
        case (.openingSocket, .open(let handshake)?):
            state = .webSocket
            open(handshake, now: now)
        case (.webSocket, let packet?): receive(packet, now: now)
        case (.polling(var polling), .pong(EnginePacket.probe)?):
            guard case .probing = polling.upgrade else { return }
            polling.upgrade = .pausing
            state = .polling(polling)
            goOver()
        case (.openingSocket, _), (.webSocket, nil): end(.protocolViolated)
        case (.polling, _): giveUpUpgrade()
        case (.openingByPoll, _), (.ended, _): break
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
            beginUpgrade(handshake, now: now)
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
        deadline = now + .milliseconds(handshake.pingInterval + handshake.pingTimeout)
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
        if case .pausing = polling.upgrade { return goOver() }
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

    private mutating func beginUpgrade(_ handshake: EngineHandshake, now: Instant) {
        guard transports[0] == .polling, transports.contains(.webSocket), handshake.upgrades.contains("websocket"),
            case .polling(var polling) = state
        else { return }
        polling.upgrade = .opening
        state = .polling(polling)
        upgradeDeadline = now + Self.upgradeTimeout
        act(.openSocket(sid: handshake.sid))
    }

    private mutating func giveUpUpgrade() {
        guard case .polling(var polling) = state else { return }
        polling.upgrade = .none
        state = .polling(polling)
        upgradeDeadline = nil
        act(.closeSocket)
        request()
    }

    /// The WebSocket takes over once no request is under way.
    private mutating func goOver() {
        guard case .polling(let polling) = state, case .pausing = polling.upgrade, !polling.isGetting,
            !polling.isPosting
        else { return }
        state = .webSocket
        upgradeDeadline = nil
        act(.send(EnginePacket.upgrade.frame))
        for packet in waiting { act(.send(packet.frame)) }
        waiting = []
    }

    private mutating func end(_ end: End) {
        switch state {
        case .ended: return
        case .openingSocket, .webSocket: act(.closeSocket)
        case .openingByPoll: act(.cancelRequests)
        case .polling(let polling):
            if case .none = polling.upgrade {} else { act(.closeSocket) }
            act(.cancelRequests)
        }
        state = .ended
        (deadline, upgradeDeadline, waiting) = (nil, nil, [])
        outputs.append(.ended(end))
    }
}
