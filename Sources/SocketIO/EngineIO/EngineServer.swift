import JSON
package import Time

/// All sessions of an Engine.IO server, and the rules for requests that open or continue one. Sans-IO: after each call,
/// perform the actions of `takeOutputs`, and call `tick` when `nextDeadline` comes.
package struct EngineServer: Sendable {
    /// The query of a request or a WebSocket, and its origin.
    package struct Query: Sendable {
        package var revision: String?
        package var transport: String?
        package var sid: String?
        /// A name of the client's network. All clients of a network share its limits.
        package var network: String

        package init(revision: String?, transport: String?, sid: String?, network: String = "") {
            (self.revision, self.transport, self.sid, self.network) = (revision, transport, sid, network)
        }
    }

    package enum Method: Sendable {
        case get, post, other
    }

    /// The reason for a refusal, with the numbers and words of Node's server.
    package enum Refusal: Int, Sendable {
        case unknownTransport = 0
        case unknownSession = 1
        case wrongMethod = 2
        case badRequest = 3
        case unsupportedRevision = 5
        /// There are too many sessions, or the client's network begins too many. Its HTTP status is 503.
        case tooManySessions = 6
        /// The session has sent too much, and is over. Its HTTP status is 429. Node's server has no such refusal.
        case tooManyPackets = 7

        package var body: [UInt8] {
            let message =
                switch self {
                case .unknownTransport: "Transport unknown"
                case .unknownSession: "Session ID unknown"
                case .wrongMethod: "Bad handshake method"
                case .badRequest: "Bad request"
                case .unsupportedRevision: "Unsupported protocol version"
                case .tooManySessions: "Too many sessions"
                case .tooManyPackets: "Too many packets"
                }
            let object = JSONText(object: [("code", JSONText(rawValue)), ("message", JSONText(string: message))])
            return Array(object.bytes)
        }
    }

    /// An action on requests or WebSockets.
    package enum Action: Sendable, Equatable {
        case answer(request: UInt64, body: [UInt8])
        case refuse(request: UInt64, Refusal)
        case send(EngineMessage, socket: UInt64)
        case close(socket: UInt64)
    }

    package enum Output: Sendable, Equatable {
        case transport(Action)
        case opened(sid: String)
        case received(EngineMessage, sid: String)
        case ended(sid: String, EngineSession.End)
    }

    private let settings: EngineSession.Settings
    let limits: EngineLimits
    private let makeSID: @Sendable () -> String
    var sessions = EngineSessions()
    var networks: NetworkUse
    private var gets = HeldGets()
    /// Networks with too many held GETs, and when the oldest of these has been held for long enough.
    private var crowded: [String: Instant] = [:]
    private var sockets: [UInt64: String] = [:]
    private var outputs: [Output] = []
    /// Of the last event.
    private(set) var now = Instant.start

    /// - Parameter makeSID: makes a name that nobody can guess.
    package init(
        settings: EngineSession.Settings = .init(),
        limits: EngineLimits,
        makeSID: @escaping @Sendable () -> String
    ) {
        (self.settings, self.limits, self.makeSID) = (settings, limits, makeSID)
        networks = NetworkUse(limits)
    }

    package var sessionCount: Int { sessions.count }

    /// When `tick` may have something to do; nil while there is no session.
    package var nextDeadline: Instant? {
        guard let due = crowded.values.min() else { return sessions.nextDeadline }
        return min(due, sessions.nextDeadline ?? due)
    }

    package mutating func takeOutputs() -> [Output] { exchange(&outputs, with: []) }

    // MARK: - Actions of clients

    /// Receives a request of polling. It is answered or refused once, a GET perhaps later.
    package mutating func receive(_ method: Method, _ query: Query, body: [UInt8], request: UInt64, now: Instant) {
        self.now = now
        if let refusal = refusal(of: query) { return act(.refuse(request: request, refusal)) }
        guard query.transport == "polling" else { return act(.refuse(request: request, .badRequest)) }
        guard let sid = query.sid else {
            guard method == .get else { return act(.refuse(request: request, .wrongMethod)) }
            guard mayOpen(from: query.network, now: now) else {
                return act(.refuse(request: request, .tooManySessions))
            }
            let sid = makeSID()
            gets.add(request, of: sid, from: query.network, now: now)
            let session = EngineSession(sid: sid, settings: settings, poll: request, now: now)
            return open(session, from: query.network, now: now)
        }
        guard sessions[sid]?.session.isPolling ?? false, method != .other else {
            return act(.refuse(request: request, .badRequest))
        }
        if method == .get {
            gets.add(request, of: sid, from: query.network, now: now)
            change(sid) { $0.poll(request) }
            releaseGets(of: query.network, now: now)
        } else {
            receive(body, postedTo: sid, request: request, now: now)
        }
    }

    /// Answers the oldest GETs of a network with too many. Their clients ask again at once.
    private mutating func releaseGets(of network: String, now: Instant) {
        crowded[network] = nil
        for _ in 0..<max(gets.count(of: network) - limits.heldGets, 0) {
            guard let oldest = gets.oldest(of: network) else { return }
            let due = oldest.since + EngineLimits.leastHold
            guard due <= now else { return crowded[network] = due }
            change(oldest.sid) { $0.releasePoll() }
        }
    }

    private mutating func receive(_ body: [UInt8], postedTo sid: String, request: UInt64, now: Instant) {
        let cost = EngineLimits.cost(ofPackets: EnginePayload.packetCount(of: body), size: body.count)
        guard pay(cost, by: sid, now: now) else {
            close(sid, .flooded)
            return act(.refuse(request: request, .tooManyPackets))
        }
        let isInOrder = change(sid) { $0.post(body, now: now) }
        act(
            isInOrder ?? false
                ? .answer(request: request, body: Array("ok".utf8)) : .refuse(request: request, .badRequest)
        )
    }

    /// Drops a held GET: its client will not read the answer.
    package mutating func abort(request: UInt64, now: Instant) {
        self.now = now
        guard let sid = gets.sid(of: request) else { return }
        gets.remove(request)
        change(sid) { $0.abort(poll: request) }
    }

    /// The reason why a WebSocket cannot be opened; nil if it can.
    package func refusal(ofSocket query: Query) -> Refusal? {
        if let refusal = refusal(of: query) { return refusal }
        if query.transport != "websocket" { return .badRequest }
        return query.sid == nil && !hasRoom(for: query.network) ? .tooManySessions : nil
    }

    /// Adds an open WebSocket that was not refused. It is closed if the client's network begins too many sessions.
    package mutating func open(socket: UInt64, _ query: Query, now: Instant) {
        self.now = now
        if let sid = query.sid {
            guard sessions[sid] != nil else { return act(.close(socket: socket)) }
            sockets[socket] = sid
            change(sid) { $0.open(socket: socket, now: now) }
        } else {
            guard mayOpen(from: query.network, now: now) else { return act(.close(socket: socket)) }
            let sid = makeSID()
            sockets[socket] = sid
            let session = EngineSession(sid: sid, settings: settings, socket: socket, now: now)
            open(session, from: query.network, now: now)
        }
    }

    package mutating func receive(_ frame: EngineMessage, on socket: UInt64, now: Instant) {
        self.now = now
        guard let sid = sockets[socket] else { return }
        guard pay(EngineLimits.cost(ofPackets: 1, size: frame.size), by: sid, now: now) else {
            return close(sid, .flooded)
        }
        change(sid) { $0.receive(frame, on: socket, now: now) }
    }

    package mutating func lost(socket: UInt64, now: Instant) {
        self.now = now
        guard let sid = sockets.removeValue(forKey: socket) else { return }
        change(sid) { $0.lost(socket: socket) }
    }

    private func refusal(of query: Query) -> Refusal? {
        if query.revision != "4" { return .unsupportedRevision }
        if query.transport != "polling", query.transport != "websocket" { return .unknownTransport }
        return query.sid.map { sessions[$0] == nil } ?? false ? .unknownSession : nil
    }

    // MARK: - Actions of the server

    package mutating func send(_ message: EngineMessage, to sid: String) {
        change(sid) { $0.send(message) }
        boundKept()
    }

    package mutating func close(_ sid: String, _ reason: EngineSession.End = .closedByServer) {
        change(sid) { $0.end(reason) }
    }

    package mutating func tick(now: Instant) {
        self.now = now
        for (network, due) in crowded where due <= now { releaseGets(of: network, now: now) }
        while let sid = sessions.takeDue(now: now) {
            change(sid) { $0.tick(now: now) }
            sessions.setTimer(of: sid)
        }
    }

    private mutating func act(_ action: Action) { outputs.append(.transport(action)) }

    private mutating func open(_ session: EngineSession, from network: String, now: Instant) {
        sessions.add(session, from: network, limits, now: now)
        networks.sessionBegan(network, now: now)
        outputs.append(.opened(sid: session.sid))
        change(session.sid) { _ in }
    }

    @discardableResult
    mutating func change<Result>(_ sid: String, _ body: (inout EngineSession) -> Result) -> Result? {
        guard let (result, outputs) = sessions.change(sid, body) else { return nil }
        for output in outputs {
            switch output {
            case .answer(let poll, let body):
                gets.remove(poll)
                act(.answer(request: poll, body: body))
            case .refuse(let poll):
                gets.remove(poll)
                act(.refuse(request: poll, .badRequest))
            case .send(let message, let socket): act(.send(message, socket: socket))
            case .close(let socket):
                sockets[socket] = nil
                act(.close(socket: socket))
            case .received(let message): self.outputs.append(.received(message, sid: sid))
            case .ended(let end):
                if let network = sessions.remove(sid) { networks.sessionEnded(network) }
                self.outputs.append(.ended(sid: sid, end))
            }
        }
        return result
    }
}
