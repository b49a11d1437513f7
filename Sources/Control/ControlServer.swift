import JSON
package import Posix

extension LineServer {
    /// Starts a thread that replies to commands.
    ///
    /// - Parameters:
    ///   - listener: made before the process gave up the right to make Unix sockets.
    ///   - take: gets the connections of requests that are no commands; nil for any other request.
    ///   - reply: called on the thread; must not wait long.
    package convenience init<Request: ControlRequest, Status>(
        answering listener: consuming sending LocalListener,
        taking take: @escaping @Sendable (Request) -> ((consuming sending FileDescriptor) -> Void)? = { _ in nil },
        _ reply: @escaping @Sendable (Request) -> Control.Reply<Status>
    ) throws(SystemError) {
        try self.init(listener, limit: Request.limit) { line in
            let request = try? Request(jsonLine: line)
            if let request, let take = take(request) { return .taken(by: take) }
            let reply = try? (request.map(reply) ?? .refused(reason: "the request makes no sense")).jsonLine()
            return reply.map { .line($0) } ?? .nothing
        }
    }
}
