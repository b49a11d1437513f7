package import JSON
package import SocketIO
package import Time

/// A server and its clients, with a network between them that takes its time, in virtual time. Frames of a WebSocket keep their
/// order; requests do not, nor do they wait for frames.
package struct SocketSimulation {
    private enum Event {
        // At the server.
        case request(UInt64)
        case open(UInt64)
        case frameToServer(EngineMessage, UInt64)
        case lostToServer(UInt64)
        // At a client.
        case answer(UInt64, status: Int, [UInt8])
        case failed(UInt64)
        case frameToClient(EngineMessage, UInt64)
        case lostToClient(UInt64)
    }

    private struct Request {
        let client: Int
        let method: EngineServer.Method
        let query: EngineServer.Query
        let body: [UInt8]
        var isHeld = false
    }

    package var server: SocketServer
    package private(set) var clients: [SocketClient] = []
    /// What each client got, and what each client's connections ended with.
    package private(set) var clientOutputs: [[SocketClient.Output]] = []
    package private(set) var serverOutputs: [SocketServer.Output] = []
    package private(set) var now = Instant.seconds(1)
    /// The longest way.
    package var delay = Duration.milliseconds(20)
    /// Clients that do nothing. What comes for them waits, for a minute.
    package var isFrozen: Set<Int> = []
    private var withoutSockets: Set<Int> = []
    /// How long each client's machine was suspended, by which its clock is behind.
    private var suspended: [Duration] = []

    private var events: [(at: Instant, order: Int, event: Event)] = []
    private var order = 0
    private var nextID: UInt64 = 0
    private var requests: [UInt64: Request] = [:]
    private var sockets: [UInt64: (client: Int, query: EngineServer.Query)] = [:]
    /// The socket that a client has now.
    private var current: [Int: UInt64] = [:]
    private var lastToServer: [UInt64: Instant] = [:]
    private var lastToClient: [UInt64: Instant] = [:]
    private var random: SplitMix

    package init(_ server: SocketServer, seed: UInt64) {
        self.server = server
        random = SplitMix(seed: seed)
    }

    /// A client begins to connect. Returns its number.
    ///
    /// - Parameter hasSockets: whether its network lets WebSockets through.
    @discardableResult
    package mutating func add(hasSockets: Bool = true, payload: JSONText? = nil) -> Int {
        if !hasSockets { withoutSockets.insert(clients.count) }
        clients.append(SocketClient(payload: payload, jitter: 0.5, now: now))
        clientOutputs.append([])
        suspended.append(.zero)
        take(of: clients.count - 1)
        return clients.count - 1
    }

    package mutating func change<Result>(client: Int, _ body: (inout SocketClient, Instant) -> Result) -> Result {
        defer { take(of: client) }
        return body(&clients[client], now - suspended[client])
    }

    /// A client's socket, or its requests, receive something.
    private mutating func changeEngine(of client: Int, _ body: (inout EngineClient, Instant) -> Void) {
        change(client: client) { client, now in client.change(now: now) { body(&$0, now) } }
    }

    /// A client's machine is suspended for a while.
    ///
    /// - Parameters:
    ///   - isCutOff: whether what comes for it meanwhile is lost.
    ///   - isNoticed: whether the client is told afterwards.
    package mutating func suspend(
        _ client: Int,
        for duration: Duration,
        isCutOff: Bool = false,
        isNoticed: Bool = true
    ) {
        isFrozen.insert(client)
        run(for: duration)
        if isCutOff { events = events.filter { !isWaiting($0.event) } }
        isFrozen.remove(client)
        suspended[client] += duration
        if isNoticed { change(client: client) { $0.slept(for: duration, now: $1) } }
    }

    private func deadline(of client: Int) -> Instant? { clients[client].nextDeadline.map { $0 + suspended[client] } }

    package mutating func changeServer(_ body: (inout SocketServer, Instant) -> Void) {
        body(&server, now)
        takeOfServer()
    }

    /// Lets everything happen for a while.
    package mutating func run(for duration: Duration) {
        let end = now + duration
        while step(until: end) {}
    }

    /// Lets the next thing happen, if there is one until an instant; else it becomes that.
    package mutating func step(until end: Instant) -> Bool {
        if !isFrozen.isEmpty { events = events.filter { !isWaiting($0.event) || now <= $0.at + Self.patience } }
        let next = events.indices.filter { isFrozen.isEmpty || !isWaiting(events[$0].event) }
            .min { (events[$0].at, events[$0].order) < (events[$1].at, events[$1].order) }
        var at = next.map { events[$0].at }
        if let deadline = server.engine.nextDeadline { at = min(at ?? deadline, deadline) }
        for client in clients.indices where !isFrozen.contains(client) {
            if let deadline = deadline(of: client) { at = min(at ?? deadline, deadline) }
        }
        guard let at, at <= end else {
            now = max(now, end)
            return false
        }
        now = max(now, at)
        if let next, events[next].at <= now {
            perform(events.remove(at: next).event)
            return true
        }
        server.engine.tick(now: now)
        takeOfServer()
        for client in clients.indices where !isFrozen.contains(client) {
            if let deadline = deadline(of: client), deadline <= now {
                change(client: client) { $0.tick(now: $1) }
            }
        }
        return true
    }

    /// Whether server or clients gave out anything that was not taken.
    package var hasOutputs: Bool { !serverOutputs.isEmpty || clientOutputs.contains { !$0.isEmpty } }

    /// What the server gave out since the last call.
    package mutating func takeServerOutputs() -> [SocketServer.Output] {
        defer { serverOutputs = [] }
        return serverOutputs
    }

    /// What a client gave out since the last call.
    package mutating func takeOutputs(of client: Int) -> [SocketClient.Output] {
        defer { clientOutputs[client] = [] }
        return clientOutputs[client]
    }

    /// Cuts what a client has: its socket and its requests.
    ///
    /// - Parameter isNoticed: whether the server notices.
    package mutating func cut(_ client: Int, isNoticed: Bool = true) {
        if let socket = current.removeValue(forKey: client) {
            if isNoticed {
                server.engine.lost(socket: socket, now: now)
                takeOfServer()
            }
            changeEngine(of: client) { engine, _ in engine.socketLost() }
        }
        let ids = requests.filter { $0.value.client == client }.keys.sorted()
        for id in ids {
            requests[id] = nil
            guard isNoticed else { continue }
            server.engine.abort(request: id, now: now)
            takeOfServer()
        }
        if !ids.isEmpty { changeEngine(of: client) { engine, _ in engine.requestFailed("cut") } }
    }

    /// Another server takes the place of this one, which loses all connections.
    package mutating func replaceServer(by server: SocketServer) {
        self.server = server
        (events, sockets) = ([], [:])
        for client in clients.indices { cut(client) }
    }

    // MARK: - The network

    /// How long the network keeps what nobody takes.
    private static let patience = Duration.seconds(60)

    /// Whether an event is for a client that does nothing.
    private func isWaiting(_ event: Event) -> Bool {
        let client =
            switch event {
            case .request, .open, .frameToServer, .lostToServer: nil as Int?
            case .answer(let id, _, _): requests[id]?.client
            case .failed(let id), .frameToClient(_, let id), .lostToClient(let id): sockets[id]?.client
            }
        return client.map(isFrozen.contains) ?? false
    }

    private mutating func schedule(_ event: Event, after last: Instant? = nil) -> Instant {
        let at = max(last ?? now, now + delay * Double.random(in: 0.1...1, using: &random))
        order += 1
        events.append((at, order, event))
        return at
    }

    private mutating func toServer(_ event: Event, on socket: UInt64) {
        lastToServer[socket] = schedule(event, after: lastToServer[socket])
    }

    private mutating func toClient(_ event: Event, on socket: UInt64) {
        lastToClient[socket] = schedule(event, after: lastToClient[socket])
    }

    private mutating func perform(_ event: Event) {
        switch event {
        case .request(let id):
            guard let request = requests[id] else { return }
            server.engine.receive(request.method, request.query, body: request.body, request: id, now: now)
            takeOfServer()
        case .open(let id):
            guard let socket = sockets[id] else { return }
            guard !withoutSockets.contains(socket.client), server.engine.refusal(ofSocket: socket.query) == nil else {
                return toClient(.failed(id), on: id)
            }
            changeServer { $0.engine.open(socket: id, socket.query, now: $1) }
        case .frameToServer(let frame, let id): changeServer { $0.engine.receive(frame, on: id, now: $1) }
        case .lostToServer(let id): changeServer { $0.engine.lost(socket: id, now: $1) }
        case .answer(let id, let status, let body):
            guard let request = requests[id] else { return }
            requests[id] = nil
            changeEngine(of: request.client) { engine, now in
                if request.method == .get {
                    engine.getAnswered(status: status, body, now: now)
                } else {
                    engine.postAnswered(status: status)
                }
            }
        case .failed(let id): changeClient(of: id) { engine, _ in engine.socketFailed() }
        case .frameToClient(let frame, let id): changeClient(of: id) { $0.receive(frame, now: $1) }
        case .lostToClient(let id):
            changeClient(of: id) { engine, _ in engine.socketLost() }
            if let client = sockets[id]?.client, current[client] == id { current[client] = nil }
        }
    }

    private mutating func changeClient(of socket: UInt64, _ body: (inout EngineClient, Instant) -> Void) {
        guard let client = sockets[socket]?.client, current[client] == socket else { return }
        changeEngine(of: client, body)
    }

    private mutating func takeOfServer() {
        for output in server.takeOutputs() {
            switch output {
            case .transport(.answer(let id, let body)): _ = schedule(.answer(id, status: 200, body))
            case .transport(.refuse(let id, let refusal)):
                _ = schedule(.answer(id, status: refusal == .tooManySessions ? 503 : 400, refusal.body))
            case .transport(.send(let frame, let socket)): toClient(.frameToClient(frame, socket), on: socket)
            case .transport(.close(let socket)): toClient(.lostToClient(socket), on: socket)
            case .connected, .received, .disconnected: serverOutputs.append(output)
            }
        }
    }

    private mutating func take(of client: Int) {
        for output in clients[client].takeOutputs() {
            switch output {
            case .transport(let action): perform(action, of: client)
            case .connected, .received, .disconnected: clientOutputs[client].append(output)
            }
        }
    }

    private mutating func perform(_ action: EngineClient.Action, of client: Int) {
        func query(_ transport: String, _ sid: String?) -> EngineServer.Query {
            EngineServer.Query(revision: "4", transport: transport, sid: sid)
        }
        nextID += 1
        switch action {
        case .openSocket:
            sockets[nextID] = (client, query("websocket", nil))
            current[client] = nextID
            toServer(.open(nextID), on: nextID)
        case .send(let frame):
            guard let socket = current[client] else { return }
            toServer(.frameToServer(frame, socket), on: socket)
        case .closeSocket:
            guard let socket = current.removeValue(forKey: client) else { return }
            toServer(.lostToServer(socket), on: socket)
        case .get(let sid):
            requests[nextID] = Request(client: client, method: .get, query: query("polling", sid), body: [])
            _ = schedule(.request(nextID))
        case .post(let sid, let body):
            requests[nextID] = Request(client: client, method: .post, query: query("polling", sid), body: body)
            _ = schedule(.request(nextID))
        case .cancelRequests:
            for id in requests.filter({ $0.value.client == client && $0.value.method == .get }).keys.sorted() {
                requests[id] = nil
                server.engine.abort(request: id, now: now)
            }
            takeOfServer()
        }
    }
}
