import JSON
package import Posix

/// A command for a process: one JSON object on one line.
package protocol ControlRequest: Codable, Sendable {
    /// Bytes of the longest request.
    static var limit: Int { get }
}

extension LineServer {
    /// Starts a thread that replies to commands.
    ///
    /// - Parameters:
    ///   - listener: made before the process gave up the right to make Unix sockets.
    ///   - reply: called on the thread; must not wait long.
    package convenience init<Request: ControlRequest, Status>(
        answering listener: consuming sending LocalListener,
        _ reply: @escaping @Sendable (Request) -> Reply<Status>
    ) throws(SystemError) {
        try self.init(listener, limit: Request.limit) { line in
            let request = try? Request(jsonLine: line)
            return try? (request.map(reply) ?? .refused(reason: "the request makes no sense")).jsonLine()
        }
    }
}
