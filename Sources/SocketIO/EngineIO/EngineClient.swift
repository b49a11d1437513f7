package import Time

/// One session of a client of Engine.IO: it opens, over a WebSocket or by polling, goes over to a WebSocket where it polls, and
/// answers the server's pings. Sans-IO: after each call, do what `takeOutputs` says, and call `tick` when `nextDeadline` comes.
///
/// There is one GET and one POST at a time, and one WebSocket.
package struct EngineClient: Sendable {
    package enum Transport: Sendable {
        case webSocket, polling
    }

    /// What to do with requests and the WebSocket.
    package enum Action: Sendable, Equatable {
        /// Opens a WebSocket, to a session that is there if there is a sid.
        case openSocket(sid: String?)
        case send(EngineMessage)
        case closeSocket
        case get(sid: String?)
        case post(sid: String, [UInt8])
        /// No answer is wanted any more; what was posted shall still arrive.
        case cancelRequests
    }

    package enum Output: Sendable, Equatable {
        case transport(Action)
        case opened
        case received(EngineMessage)
        /// The last output.
        case ended(End)
    }

    /// Why a session is over, or never was.
    package enum End: Sendable, Equatable {
        case closedByClient
        case closedByServer
        case connectionLost
        case protocolViolated
        /// No ping of the server came.
        case silent
        /// The server did not open a session in time.
        case notOpened
        /// The server refused a request, with a status of HTTP; or it could not be reached.
        case refused(status: Int)
        case unreachable(String)
    }

    /// How a WebSocket takes over from polling.
    private enum Upgrade {
        case none
        case opening
        /// The server has not answered yet.
        case probing
        /// When the requests under way are over, it takes over.
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

    /// A session that does not open in this time is given up.
    private static let openTimeout = Duration.seconds(20)
    /// A WebSocket that does not answer in this time does not take over.
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
    /// - Parameter transports: those to use. With polling first, a WebSocket takes over where the server offers it; with the
    ///   WebSocket first, the session polls where none can be opened.
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

    // MARK: - What the user does

    package mutating func send(_ message: EngineMessage) { send(.message(message)) }

    package mutating func close() {
        if case .webSocket = state { act(.send(EnginePacket.close.frame)) }
        // Beside another POST, it is out of order, which ends the session too.
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

    /// The machine was suspended: the clock stood still, and the server's went on. What it has not done in time by that, it does not
    /// do any more; `tick` follows.
    package mutating func slept(for time: Duration) {
        deadline = deadline.map { $0 - time }
        upgradeDeadline = upgradeDeadline.map { $0 - time }
    }

    // MARK: - What happens to the WebSocket

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

    // MARK: - What happens to requests

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

    /// A request found no answer.
    package mutating func requestFailed(_ reason: String) {
        switch state {
        case .openingByPoll: end(.unreachable(reason))
        case .polling: end(.connectionLost)
        case .openingSocket, .webSocket, .ended: break
        }
    }

    // MARK: - Between them

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

    /// As many packets as the server takes at once, but one at the least.
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
