import JSON
package import Posix

/// Replies to what commands ask of a running sender at its socket.
package final class SenderControl: Sendable {
    /// A call brings secrets of up to 16 KiB each.
    private static let requestLimit = 65_536

    private let server: LineServer

    /// Starts a thread.
    ///
    /// - Parameters:
    ///   - listener: made before the process gave up making Unix sockets.
    ///   - reply: called on the thread; must not wait long.
    package init(
        _ listener: consuming sending LocalListener,
        reply: @escaping @Sendable (SenderRequest) -> SenderReply
    ) throws(SystemError) {
        server = try LineServer(listener, limit: Self.requestLimit) { line in
            let request = try? SenderRequest(jsonLine: line)
            return try? (request.map(reply) ?? .refused(reason: "the request makes no sense")).jsonLine()
        }
    }

    /// Ends the thread. Further calls do nothing.
    package func close() { server.close() }
}
