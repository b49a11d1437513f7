import HeapModule
package import Time

/// All sessions of a server of Engine.IO, and the rules for requests that open or continue one. Sans-IO: after each call, do
/// what `takeOutputs` says, and call `tick` when `nextDeadline` comes.
package struct EngineServer: Sendable {
    /// What a request or a WebSocket says of itself in its query.
    package struct Query: Sendable {
        package var revision: String?
        package var transport: String?
        package var sid: String?

        package init(revision: String?, transport: String?, sid: String?) {
            (self.revision, self.transport, self.sid) = (revision, transport, sid)
        }
    }

    package enum Method: Sendable {
        case get, post, other
    }

    /// Why a request is refused, with the numbers and words that Node's server uses.
    package enum Refusal: Int, Sendable {
        case unknownTransport = 0
        case unknownSession = 1
        case wrongMethod = 2
        case badRequest = 3
        case unsupportedRevision = 5
        /// Its HTTP status is 503.
        case tooManySessions = 6

        package var body: [UInt8] {
            let message =
                switch self {
                case .unknownTransport: "Transport unknown"
                case .unknownSession: "Session ID unknown"
                case .wrongMethod: "Bad handshake method"
                case .badRequest: "Bad request"
                case .unsupportedRevision: "Unsupported protocol version"
                case .tooManySessions: "Too many sessions"
                }
            return Array(#"{"code":\#(rawValue),"message":"\#(message)"}"#.utf8)
        }
    }

    /// What to do with requests and WebSockets.
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

    private struct Timer: Comparable, Sendable {
        var at: Instant
        var sid: String

        static func < (left: Timer, right: Timer) -> Bool { left.at < right.at }
    }

    private struct Entry: Sendable {
        var session: EngineSession
        /// The one timer that counts: it is no later than the session's deadline.
        var timerAt: Instant
    }

    private let settings: EngineSession.Settings
    private let mostSessions: Int
    private let makeSID: @Sendable () -> String
    private var sessions: [String: Entry] = [:]
    /// Which session a request that is held, or a WebSocket, belongs to.
    private var polls: [UInt64: String] = [:]
    private var sockets: [UInt64: String] = [:]
    /// One that counts for each session, and old ones.
    private var timers = Heap<Timer>()
    private var outputs: [Output] = []

    /// - Parameters:
    ///   - mostSessions: at once.
    ///   - makeSID: makes a name that nobody can guess.
    package init(
        settings: EngineSession.Settings = .init(),
        mostSessions: Int,
        makeSID: @escaping @Sendable () -> String
    ) {
        (self.settings, self.mostSessions, self.makeSID) = (settings, mostSessions, makeSID)
    }

    package var sessionCount: Int { sessions.count }

    /// When `tick` may have something to do; nil while there is no session.
    package var nextDeadline: Instant? { timers.min?.at }

    package mutating func takeOutputs() -> [Output] {
        defer { outputs = [] }
        return outputs
    }

    // MARK: - What clients do

    /// A request of polling comes. It is answered or refused once, a GET perhaps later.
    package mutating func receive(_ method: Method, _ query: Query, body: [UInt8], request: UInt64, now: Instant) {
        if let refusal = refusal(of: query) { return act(.refuse(request: request, refusal)) }
        guard query.transport == "polling" else { return act(.refuse(request: request, .badRequest)) }
        guard let sid = query.sid else {
            guard method == .get else { return act(.refuse(request: request, .wrongMethod)) }
            guard sessions.count < mostSessions else {
                return act(.refuse(request: request, .tooManySessions))
            }
            let sid = makeSID()
            polls[request] = sid
            return open(EngineSession(sid: sid, settings: settings, poll: request, now: now))
        }
        guard sessions[sid]?.session.isPolling ?? false, method != .other else {
            return act(.refuse(request: request, .badRequest))
        }
        if method == .get {
            polls[request] = sid
            change(sid) { $0.poll(request) }
        } else {
            let isInOrder = change(sid) { $0.post(body, now: now) }
            act(
                isInOrder ?? false
                    ? .answer(request: request, body: Array("ok".utf8)) : .refuse(request: request, .badRequest)
            )
        }
    }

    /// A GET that is held will not be read.
    package mutating func abort(request: UInt64, now: Instant) {
        guard let sid = polls.removeValue(forKey: request) else { return }
        change(sid) { $0.abort(poll: request) }
    }

    /// Why a WebSocket cannot be opened; nil if it can.
    package func refusal(ofSocket query: Query) -> Refusal? {
        if let refusal = refusal(of: query) { return refusal }
        if query.transport != "websocket" { return .badRequest }
        return query.sid == nil && sessions.count >= mostSessions ? .tooManySessions : nil
    }

    /// A WebSocket that was not refused is open.
    package mutating func open(socket: UInt64, _ query: Query, now: Instant) {
        if let sid = query.sid {
            guard sessions[sid] != nil else { return act(.close(socket: socket)) }
            sockets[socket] = sid
            change(sid) { $0.open(socket: socket, now: now) }
        } else {
            let sid = makeSID()
            sockets[socket] = sid
            open(EngineSession(sid: sid, settings: settings, socket: socket, now: now))
        }
    }

    package mutating func receive(_ frame: EngineMessage, on socket: UInt64, now: Instant) {
        guard let sid = sockets[socket] else { return }
        change(sid) { $0.receive(frame, on: socket, now: now) }
    }

    package mutating func lost(socket: UInt64, now: Instant) {
        guard let sid = sockets.removeValue(forKey: socket) else { return }
        change(sid) { $0.lost(socket: socket) }
    }

    private func refusal(of query: Query) -> Refusal? {
        if query.revision != "4" { return .unsupportedRevision }
        if query.transport != "polling", query.transport != "websocket" { return .unknownTransport }
        return query.sid.map { sessions[$0] == nil } ?? false ? .unknownSession : nil
    }

    // MARK: - What the server does

    package mutating func send(_ message: EngineMessage, to sid: String) { change(sid) { $0.send(message) } }

    package mutating func close(_ sid: String, _ reason: EngineSession.End = .closedByServer) {
        change(sid) { $0.close(reason) }
    }

    package mutating func tick(now: Instant) {
        while let timer = timers.min, timer.at <= now {
            timers.removeMin()
            guard sessions[timer.sid]?.timerAt == timer.at else { continue }
            change(timer.sid) { $0.tick(now: now) }
            if let deadline = sessions[timer.sid]?.session.nextDeadline { setTimer(of: timer.sid, at: deadline) }
        }
    }

    private mutating func act(_ action: Action) { outputs.append(.transport(action)) }

    private mutating func open(_ session: EngineSession) {
        guard let deadline = session.nextDeadline else { return }
        sessions[session.sid] = Entry(session: session, timerAt: deadline)
        setTimer(of: session.sid, at: deadline)
        outputs.append(.opened(sid: session.sid))
        change(session.sid) { _ in }
    }

    private mutating func setTimer(of sid: String, at deadline: Instant) {
        sessions[sid]?.timerAt = deadline
        timers.insert(Timer(at: deadline, sid: sid))
    }

    @discardableResult
    private mutating func change<Result>(_ sid: String, _ body: (inout EngineSession) -> Result) -> Result? {
        guard let slot = sessions.index(forKey: sid) else { return nil }
        // In place, so that nothing that waits is copied.
        let result = body(&sessions.values[slot].session)
        let outputs = sessions.values[slot].session.takeOutputs()
        let entry = sessions.values[slot]
        if let deadline = entry.session.nextDeadline, deadline < entry.timerAt { setTimer(of: sid, at: deadline) }
        for output in outputs {
            switch output {
            case .answer(let poll, let body):
                polls[poll] = nil
                act(.answer(request: poll, body: body))
            case .refuse(let poll):
                polls[poll] = nil
                act(.refuse(request: poll, .badRequest))
            case .send(let message, let socket): act(.send(message, socket: socket))
            case .close(let socket):
                sockets[socket] = nil
                act(.close(socket: socket))
            case .received(let message): self.outputs.append(.received(message, sid: sid))
            case .ended(let end):
                sessions[sid] = nil
                self.outputs.append(.ended(sid: sid, end))
            }
        }
        return result
    }
}
