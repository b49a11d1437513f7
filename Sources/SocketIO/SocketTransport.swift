package import Time

/// The interface of `EngineServer`, or of `SocketServer` on top of it, to HTTP and WebSockets. It answers by
/// `EngineServer.Action`.
package protocol SocketTransport: Sendable {
    associatedtype Output: SocketOutput

    /// The results of the calls since the last one, in order.
    mutating func takeOutputs() -> [Output]

    mutating func receive(
        _ method: EngineServer.Method,
        _ query: EngineServer.Query,
        body: [UInt8],
        request: UInt64,
        now: Instant
    )

    mutating func abort(request: UInt64, now: Instant)

    func refusal(ofSocket query: EngineServer.Query) -> EngineServer.Refusal?

    mutating func open(socket: UInt64, _ query: EngineServer.Query, now: Instant)

    mutating func receive(_ frame: EngineMessage, on socket: UInt64, now: Instant)

    mutating func lost(socket: UInt64, now: Instant)

    var nextDeadline: Instant? { get }

    mutating func tick(now: Instant)
}

/// An output of such a server: an action on requests and WebSockets, or an event for its owner.
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
