package import Time

/// What a server of Engine.IO, or of Socket.IO on top of it, asks of HTTP and WebSockets. It answers by `EngineServer.Action`.
package protocol SocketTransport: Sendable {
    associatedtype Output: SocketOutput

    /// What the calls since the last one led to, in order.
    mutating func takeOutputs() -> [Output]

    /// A request of polling comes. It is answered or refused once, a GET perhaps later.
    mutating func receive(
        _ method: EngineServer.Method,
        _ query: EngineServer.Query,
        body: [UInt8],
        request: UInt64,
        now: Instant
    )

    /// A GET that is held will not be read.
    mutating func abort(request: UInt64, now: Instant)

    /// Why a WebSocket cannot be opened; nil if it can.
    func refusal(ofSocket query: EngineServer.Query) -> EngineServer.Refusal?

    /// A WebSocket that was not refused is open.
    mutating func open(socket: UInt64, _ query: EngineServer.Query, now: Instant)

    mutating func receive(_ frame: EngineMessage, on socket: UInt64, now: Instant)

    mutating func lost(socket: UInt64, now: Instant)

    /// When `tick` may have something to do; nil while there is nothing to wait for.
    var nextDeadline: Instant? { get }

    mutating func tick(now: Instant)
}

/// What such a server gives out: something to do with requests and WebSockets, or an event for its owner.
package protocol SocketOutput: Sendable {
    var action: EngineServer.Action? { get }
}

extension EngineServer: SocketTransport {}
extension SocketServer: SocketTransport {}

extension EngineServer.Output: SocketOutput {
    package var action: EngineServer.Action? { if case .transport(let action) = self { action } else { nil } }
}

extension SocketServer.Output: SocketOutput {
    package var action: EngineServer.Action? { if case .transport(let action) = self { action } else { nil } }
}
