import Synchronization
import Time

/// Replies to lines that other processes of the machine send to a socket, one after the other, on a thread of its own.
package final class LineServer: Sendable {
    /// How long a client may take to send its line.
    private static let requestTime = Duration.seconds(1)
    /// How long a client may take to read its reply: one that asks several may wait for one that hangs first.
    private static let replyTime = Duration.seconds(2)
    private static let retryTime = Duration.milliseconds(50)

    private let listener: LocalListener
    private let limit: Int
    private let reply: @Sendable (String) -> String?
    private let end: EventSignal
    private let thread = Mutex<Thread?>(nil)

    /// Starts the thread.
    ///
    /// - Parameters:
    ///   - listener: made before the process gave up making Unix sockets.
    ///   - limit: bytes of the longest line that is taken.
    ///   - reply: called on the thread; must not wait long. Nil for none.
    package init(
        _ listener: consuming sending LocalListener,
        limit: Int,
        reply: @escaping @Sendable (String) -> String?
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
                // Without a free descriptor the client still waits to be accepted: trying again at once would fail too.
                MonotonicClock.sleep(for: Self.retryTime)
                continue
            }
            // A client that asks too slowly, or does not take the reply, gets none.
            try? serve(asker)
        }
    }

    private func serve(_ asker: borrowing LineChannel) throws {
        let line = try asker.receive(limit: limit, until: MonotonicClock.now() + Self.requestTime)
        // A request whose client has given up is not carried out later, as when this process goes on after SIGSTOP.
        if asker.isAbandoned { return }
        let deadline: Instant = MonotonicClock.now() + Self.replyTime
        guard let reply = reply(line) else { return }
        try asker.send(reply, until: deadline)
    }

    /// Ends the thread. Further calls do nothing.
    package func close() {
        end.set()
        thread.withLock { $0.take() }?.join()
    }
}
