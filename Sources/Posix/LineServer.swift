import Synchronization
import Time

/// Replies to lines that other processes of the machine send to a socket, one by one, on a thread of its own.
package final class LineServer: Sendable {
    package enum Reply {
        case line(String)
        case nothing
        /// The connection is used for more than a reply.
        case taken(by: (consuming sending FileDescriptor) -> Void)
    }

    /// The longest time for a client's line.
    private static let requestTime = Duration.seconds(1)
    /// The longest time for a client to read its reply. A client of several servers may wait for a hanging one first.
    private static let replyTime = Duration.seconds(2)
    private static let retryTime = Duration.milliseconds(50)

    private let listener: LocalListener
    private let limit: Int
    private let reply: @Sendable (String) -> Reply
    private let end: EventSignal
    private let thread = Mutex<Thread?>(nil)

    /// Starts the thread.
    ///
    /// - Parameters:
    ///   - listener: made before the process gave up making Unix sockets.
    ///   - limit: bytes of the longest line.
    ///   - reply: called on the thread; must not wait long.
    package init(
        _ listener: consuming sending LocalListener,
        limit: Int,
        reply: @escaping @Sendable (String) -> Reply
    ) throws(SystemError) {
        end = try EventSignal()
        self.listener = listener
        self.limit = limit
        self.reply = reply
        try thread.withLock { thread throws(SystemError) in thread = try Thread { [self] in serve() } }
    }

    private func serve() {
        while true {
            var items = [PollItem(listener.raw), PollItem(end.raw)]
            try? poll(&items, until: nil)
            if items[1].isReadable { return }
            guard let asker = listener.accept() else {
                // Without a free descriptor the client still waits to be accepted. An immediate retry would fail too.
                MonotonicClock.sleep(for: Self.retryTime)
                continue
            }
            // A client that sends too slowly, or does not read the reply, gets none.
            try? serve(asker)
        }
    }

    private func serve(_ asker: consuming LineChannel) throws {
        let line = try asker.receive(limit: limit, until: MonotonicClock.now() + Self.requestTime)
        // The request of a client that has given up is not performed later, as after a SIGSTOP of this process.
        if asker.isAbandoned { return }
        let deadline: Instant = MonotonicClock.now() + Self.replyTime
        switch reply(line) {
        case .line(let line): try asker.send(line, until: deadline)
        case .nothing: break
        case .taken(let take): take(asker.release())
        }
    }

    /// Ends the thread. Further calls do nothing.
    package func close() {
        end.set()
        thread.withLock { $0.take() }?.join()
    }
}
