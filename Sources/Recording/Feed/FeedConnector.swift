package import FrameBridge
package import Posix
import Time

/// The process that connects a recorder to senders. The recorder itself may open no socket and start no program.
package struct FeedConnector: ~Copyable {
    /// For the recorder in its sandbox, a descriptor each time that it asks.
    package static let descriptor: Int32 = 0

    private static let restTime = Duration.milliseconds(100)
    /// A sender that has died is started again within this time, by the process that started it.
    private static let patience = Duration.seconds(2)
    private static let farewellTime = Duration.seconds(3)
    /// From one start of a sender that ends at once to the next.
    private static let startTime = Duration.seconds(1)

    private let directory: BridgeDirectory
    /// Whether only a sender of this recorder's own will do.
    private let needsOwn: Bool
    private let startSender: () throws(SystemError) -> ChildProcess
    private var sender: ChildProcess?
    private var startedAt: Instant?

    /// - Parameters:
    ///   - directory: the broadcast's folder.
    ///   - needsOwn: whether the senders of others do not encode what is wanted.
    ///   - startSender: starts a sender that has no calls.
    package init(
        in directory: BridgeDirectory,
        needsOwn: Bool,
        startSender: @escaping () throws(SystemError) -> ChildProcess
    ) {
        (self.directory, self.needsOwn, self.startSender) = (directory, needsOwn, startSender)
    }

    /// Answers each question with a connection to a sender, as soon as there is one. Ends with the recorder, or with the broadcast.
    package mutating func run(_ channel: consuming DescriptorChannel) throws(SystemError) {
        defer { endSender() }
        while channel.waitForQuestion() {
            guard let connection = try connect(until: channel) else { return }
            try channel.give(connection)
        }
    }

    /// Nil once there is nothing to connect to any more, or nobody to connect.
    private mutating func connect(until channel: borrowing DescriptorChannel) throws(SystemError) -> FileDescriptor? {
        let since: Instant = MonotonicClock.now()
        while true {
            if sender?.takeExit() != nil { sender = nil }
            if let connection = connection() { return connection }
            if channel.isAbandoned || BroadcastGlance(directory).hasEnded { return nil }
            let now: Instant = MonotonicClock.now()
            let mayStart = startedAt.map { now > $0 + Self.startTime } ?? true
            if sender == nil, mayStart, needsOwn || now > since + Self.patience {
                sender = try startSender()
                startedAt = now
            }
            MonotonicClock.sleep(for: Self.restTime)
        }
    }

    private func connection() -> FileDescriptor? {
        for folder in ProcessFolder.all(.sender, in: directory) where !needsOwn || folder.pid == sender?.pid {
            if let channel = try? folder.connect(until: MonotonicClock.now() + Self.restTime) {
                return channel.release()
            }
        }
        return nil
    }

    private func endSender() {
        guard let sender else { return }
        sender.terminate()
        waitReadable(sender.descriptor.raw, until: MonotonicClock.now() + Self.farewellTime)
    }
}
