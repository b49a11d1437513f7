package import Posix
import Synchronization
import Time

/// Replies to what commands ask of a running sender at its socket, one after the other, on a thread of its own.
package final class SenderControl: Sendable {
    /// How long a command may take to send its request.
    private static let patience = Duration.seconds(1)
    /// A call brings secrets of up to 16 KiB each.
    private static let requestLimit = 65_536
    private static let retryTime = Duration.milliseconds(50)

    private let listener: LocalListener
    private let reply: @Sendable (SenderRequest) -> SenderReply
    private let end: EventSignal
    private let thread = Mutex<Thread?>(nil)

    /// Starts the thread.
    ///
    /// - Parameters:
    ///   - listener: made before the process gave up making Unix sockets.
    ///   - reply: called on the thread; must not wait long.
    package init(
        _ listener: consuming sending LocalListener,
        reply: @escaping @Sendable (SenderRequest) -> SenderReply
    ) throws(SystemError) {
        end = try EventSignal()
        self.listener = listener
        self.reply = reply
        try thread.withLock { thread throws(SystemError) in thread = try Thread { [self] in serve() } }
    }

    private func serve() {
        while true {
            var items = [PollItem(listener.raw), PollItem(end.raw)]
            try? poll(&items, until: nil)
            if items[1].isReadable { return }
            guard let asker = listener.accept() else {
                // Without a free descriptor the command still waits to be accepted: trying again at once would fail too.
                MonotonicClock.sleep(for: Self.retryTime)
                continue
            }
            // A command that asks too slowly, or does not take the reply, gets none.
            try? serve(asker)
        }
    }

    private func serve(_ asker: borrowing LineChannel) throws {
        let line = try asker.receive(limit: Self.requestLimit, until: MonotonicClock.now() + Self.patience)
        // A request whose command has given up is not carried out later, as when this process goes on after SIGSTOP.
        if asker.isAbandoned { return }
        // A command that asks several senders may wait for one that hangs before it reads this reply.
        let deadline: Instant = MonotonicClock.now() + SenderConnection.patience
        let request = try? SenderRequest(jsonLine: line)
        let reply = request.map(reply) ?? .refused(reason: "the request makes no sense")
        try asker.send(try reply.jsonLine(), until: deadline)
    }

    /// Ends the thread. Further calls do nothing.
    package func close() {
        end.set()
        thread.withLock { $0.take() }?.join()
    }
}
