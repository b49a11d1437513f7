/// A server of HTTP and WebSockets: `SocketServer`, or `EngineServer` alone. It answers by `EngineServer.Action`.
package protocol SocketTransport: Sendable {
    associatedtype Output: SocketOutput

    /// The results of the calls since the last one, in order.
    mutating func takeOutputs() -> [Output]

    /// The sessions, which requests and WebSockets reach.
    var engine: EngineServer { get set }
}

/// An output of such a server: an action on requests and WebSockets, or an event for its owner.
package protocol SocketOutput: Sendable {
    var action: EngineServer.Action? { get }
}

extension SocketServer: SocketTransport {}

extension SocketServer.Output: SocketOutput {
    package var action: EngineServer.Action? { if case .transport(let action) = self { action } else { nil } }
}
