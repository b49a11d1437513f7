package import HTTP
import NIOHTTP1
import Posix
package import SocketIO
import Synchronization
package import Time

/// Serves Engine.IO, or Socket.IO, to the clients of an HTTP server. Close that server before the service is let go.
package final class SocketService<Server: SocketTransport>: Sendable {
    private struct State: Sendable {
        var server: Server
        var nextID: UInt64 = 0
        var completions: [UInt64: @Sendable (HTTPResponse) -> Void] = [:]
        var sockets: [UInt64: WebSocket] = [:]
        /// What is to be done, in order, outside of the lock.
        var actions: [EngineServer.Action] = []
        var isActing = false
        /// The one timer that counts.
        var timerAt: Instant?
    }

    private let path: String
    private let http: HTTPServer
    private let react: @Sendable (inout Server, Server.Output, Instant) -> Void
    private let state: Mutex<State>

    /// - Parameters:
    ///   - path: that clients ask for, such as `/socket.io/`.
    ///   - http: the server whose requests come here; it has the timers.
    ///   - react: takes an event of the server's, and may change the server. It is called under a lock, and must not call the
    ///     service.
    package init(
        _ server: Server,
        at path: String,
        of http: HTTPServer,
        react: @escaping @Sendable (inout Server, Server.Output, Instant) -> Void
    ) {
        (self.path, self.http, self.react) = (path, http, react)
        state = Mutex(State(server: server))
    }

    /// Whether a request is for this service.
    package func isFor(_ request: HTTPRequest) -> Bool { request.path == path || request.path + "/" == path }

    /// - Parameter completion: called once, perhaps after half a minute.
    package func respond(to request: HTTPRequest, completion: @escaping @Sendable (HTTPResponse) -> Void) {
        if request.method == .OPTIONS { return completion(Self.open(HTTPResponse(.noContent))) }
        let method: EngineServer.Method =
            switch request.method {
            case .GET: .get
            case .POST: .post
            default: .other
            }
        let id = change { state, now in
            state.nextID += 1
            let id = state.nextID
            state.completions[id] = completion
            state.server.receive(method, Self.query(of: request), body: request.body, request: id, now: now)
            return id
        }
        request.departure.notify { [self] in
            change { $0.server.abort(request: id, now: $1) }
            // One that has closed only its sending half still waits.
            complete(id, Self.refusal(.badRequest))
        }
    }

    /// The owner of the WebSocket that a request asks for; nil if it gets none.
    package func takeSocket(_ request: HTTPRequest) -> WebSocketOwner? {
        let query = Self.query(of: request)
        guard isFor(request), state.withLock({ $0.server.refusal(ofSocket: query) }) == nil else { return nil }
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        return WebSocketOwner(
            opened: { [self] socket in
                change { state, now in
                    state.sockets[id] = socket
                    state.server.open(socket: id, query, now: now)
                }
            },
            received: { [self] message in
                change { $0.server.receive(EngineMessage(message), on: id, now: $1) }
            },
            closed: { [self] in
                change { state, now in
                    state.sockets[id] = nil
                    state.server.lost(socket: id, now: now)
                }
            }
        )
    }

    /// Changes the server from outside.
    package func perform(_ body: @Sendable (inout Server, Instant) -> Void) { change { body(&$0.server, $1) } }

    // MARK: - Driving the server

    private func change<Result: Sendable>(_ body: (inout State, Instant) -> Result) -> Result {
        let now: Instant = MonotonicClock.now()
        let (result, timer) = state.withLock { state in
            let result = body(&state, now)
            takeOutputs(&state, now)
            let deadline = state.server.nextDeadline
            let isNews = deadline.map { deadline in state.timerAt.map { deadline < $0 } ?? true } ?? false
            if isNews { state.timerAt = deadline }
            return (result, isNews ? deadline : nil)
        }
        if let timer {
            http.schedule(in: max(timer - now, .zero)) { [weak self] in self?.tick(timer) }
        }
        act()
        return result
    }

    private func takeOutputs(_ state: inout State, _ now: Instant) {
        while true {
            let outputs = state.server.takeOutputs()
            if outputs.isEmpty { return }
            for output in outputs {
                if let action = output.action {
                    state.actions.append(action)
                } else {
                    react(&state.server, output, now)
                }
            }
        }
    }

    private func tick(_ timer: Instant) {
        change { state, now in
            guard state.timerAt == timer else { return }
            state.timerAt = nil
            state.server.tick(now: now)
        }
    }

    /// What is done may change the server at once, as when a WebSocket closes: what follows from that waits for its turn.
    private func act() {
        while let actions = takeActions() {
            for action in actions { perform(action) }
            state.withLock { $0.isActing = false }
        }
    }

    private func takeActions() -> [EngineServer.Action]? {
        state.withLock { state in
            guard !state.isActing, !state.actions.isEmpty else { return nil }
            state.isActing = true
            defer { state.actions = [] }
            return state.actions
        }
    }

    private func perform(_ action: EngineServer.Action) {
        switch action {
        case .answer(let id, let body):
            // Node's server sends text, whatever it is.
            complete(id, HTTPResponse(.ok, ["Content-Type": "text/plain; charset=UTF-8"], body: body))
        case .refuse(let id, let refusal): complete(id, Self.refusal(refusal))
        case .send(let message, let id): state.withLock { $0.sockets[id] }?.send(WebSocketMessage(message))
        case .close(let id): state.withLock { $0.sockets[id] }?.close()
        }
    }

    private func complete(_ id: UInt64, _ response: HTTPResponse) {
        state.withLock { $0.completions.removeValue(forKey: id) }?(Self.open(response))
    }

    private static func refusal(_ refusal: EngineServer.Refusal) -> HTTPResponse {
        let status: HTTPResponseStatus =
            switch refusal {
            case .tooManySessions: .serviceUnavailable
            case .tooManyPackets: .tooManyRequests
            default: .badRequest
            }
        return HTTPResponse(status, ["Content-Type": "application/json"], body: refusal.body)
    }

    /// Pages of every origin may use the service: it knows no cookies.
    private static func open(_ response: HTTPResponse) -> HTTPResponse {
        var response = response
        response.headers.add(name: "Access-Control-Allow-Origin", value: "*")
        response.headers.add(name: "Access-Control-Allow-Methods", value: "GET, POST, OPTIONS")
        response.headers.add(name: "Access-Control-Allow-Headers", value: "Content-Type, Authorization")
        response.headers.add(name: "Cache-Control", value: "no-store")
        return response
    }

    private static func query(of request: HTTPRequest) -> EngineServer.Query {
        EngineServer.Query(
            revision: request.queryValue("EIO"),
            transport: request.queryValue("transport"),
            sid: request.queryValue("sid"),
            network: ClientAddress(request.client).network
        )
    }
}
