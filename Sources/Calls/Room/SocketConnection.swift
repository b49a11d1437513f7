import HTTP
import JSON
import NIOHTTP1
import Posix
import SocketIO
import Synchronization
import Time

/// Connects a client of Socket.IO with HTTP and WebSockets. Events come on the web client's thread, in order. Close that client before the
/// connection is released.
final class SocketConnection: Sendable {
    private struct State {
        /// The WebSocket, and its number among those so far. Events of earlier ones are ignored.
        var socket: WebSocket?
        var socketNumber = 0
        /// The requests that wait for an answer, and how often all were cancelled.
        var gets: [WebClient.Pending] = []
        var requestRound = 0
    }

    /// The longest time of a request. A server without news answers when it pings.
    private static let requestTimeout = Duration.seconds(60)

    private let web: WebClient
    private let origin: WebOrigin
    private let path: String
    private let react: @Sendable (SocketClient.Output, Instant) -> Void
    private let driver: EngineDriver<SocketClient>
    private let state = Mutex(State())

    /// Begins to connect.
    ///
    /// - Parameters:
    ///   - payload: an object for the server with each connection.
    ///   - react: gets all other outputs than those for the transport.
    init(
        to origin: WebOrigin,
        path: String,
        payload: JSONText,
        by web: WebClient,
        react: @escaping @Sendable (SocketClient.Output, Instant) -> Void
    ) {
        (self.web, self.origin, self.path, self.react) = (web, origin, path, react)
        let client = SocketClient(payload: payload, jitter: .random(in: 0...1), now: MonotonicClock.now())
        driver = EngineDriver(client) { web.schedule(in: $0, $1) }
        web.perform { [self] in change { _, _ in } }
    }

    /// Sends an event, unless the connection does not stand. Call it on the web client's thread.
    func send(_ packet: SocketPacket) { change { _ = $0.send(packet, now: $1) } }

    /// Ends the connection for good. Call it on the web client's thread.
    func close() { change { $0.close(now: $1) } }

    /// The machine was suspended. Call it on the web client's thread.
    func slept(for time: Duration) { change { $0.slept(for: time, now: $1) } }

    // MARK: - Driving the client

    private func change(_ body: (inout SocketClient, Instant) -> Void) {
        driver.change(for: self, body) { connection, output, now in
            if case .transport(let action) = output { return connection.perform(action) }
            connection.react(output, now)
        }
    }

    private func changeEngine(_ body: (inout EngineClient, Instant) -> Void) {
        change { client, now in client.change(now: now) { body(&$0, now) } }
    }

    private func perform(_ action: EngineClient.Action) {
        switch action {
        case .openSocket: openSocket()
        case .send(let message): state.withLock(\.socket)?.send(WebSocketMessage(message))
        case .closeSocket:
            state.withLock { state in
                defer { (state.socket, state.socketNumber) = (nil, state.socketNumber + 1) }
                return state.socket
            }?.close()
        case .get(let sid): get(sid: sid)
        case .post(let sid, let body): post(sid: sid, body)
        case .cancelRequests:
            let gets = state.withLock { state in
                defer { (state.gets, state.requestRound) = ([], state.requestRound + 1) }
                return state.gets
            }
            for pending in gets { pending.cancel() }
        }
    }

    private func target(_ transport: String, sid: String? = nil) -> String {
        "\(path)?EIO=4&transport=\(transport)" + (sid.map { "&sid=\($0.percentEncoded)" } ?? "")
    }

    // MARK: - WebSockets

    private func openSocket() {
        let number = state.withLock { state in
            state.socketNumber += 1
            return state.socketNumber
        }
        @Sendable func change(_ body: (inout EngineClient, Instant) -> Void) {
            if state.withLock({ $0.socketNumber == number }) { changeEngine(body) }
        }
        web.openSocket(
            target("websocket"),
            of: origin,
            owner: WebSocketOwner(
                opened: { [self] socket in
                    let isWanted = state.withLock { state in
                        guard state.socketNumber == number else { return false }
                        state.socket = socket
                        return true
                    }
                    if !isWanted { socket.close() }
                },
                received: { message in change { $0.receive(EngineMessage(message), now: $1) } },
                closed: { [self] in
                    state.withLock { state in if state.socketNumber == number { state.socket = nil } }
                    change { engine, _ in engine.socketLost() }
                }
            )
        ) { _ in change { engine, _ in engine.socketFailed() } }
    }

    // MARK: - Polling

    private func get(sid: String?) {
        let pending = send(.GET, sid: sid) { $0.getAnswered(status: $1.status, $1.body, now: $2) }
        state.withLock { $0.gets = [pending] }
    }

    private func post(sid: String, _ body: [UInt8]) {
        let type: HTTPHeaders = ["Content-Type": "text/plain; charset=UTF-8"]
        _ = send(.POST, sid: sid, type, body) { engine, response, _ in engine.postAnswered(status: response.status) }
    }

    private func send(
        _ method: HTTPMethod,
        sid: String?,
        _ headers: HTTPHeaders = [:],
        _ body: [UInt8] = [],
        answered: @escaping @Sendable (inout EngineClient, WebClient.Response, Instant) -> Void
    ) -> WebClient.Pending {
        let round = state.withLock(\.requestRound)
        let target = target("polling", sid: sid)
        return web.send(method, target, of: origin, headers, body: body, timeout: Self.requestTimeout) {
            [self] result in
            guard state.withLock({ $0.requestRound == round }) else { return }
            changeEngine { engine, now in
                switch result {
                case .success(let response): answered(&engine, response, now)
                case .failure(let error): engine.requestFailed("\(error)")
                }
            }
        }
    }
}
