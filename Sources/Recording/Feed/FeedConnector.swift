package import FrameBridge
package import Posix
import Time

/// The process that connects a recorder to senders. The recorder itself may open no socket and start no program.
package struct FeedConnector: ~Copyable {
    /// For the recorder in its sandbox, a descriptor each time that it asks.
    package static let descriptor: Int32 = 0

    /// When it starts a sender for this recorder alone.
    package enum OwnSender {
        /// The senders of others do not encode what is wanted.
        case always
        /// When there is no other.
        case ifNeeded
        /// Nor has a broadcast ended that has had none.
        case never
    }

    private static let restTime = Duration.milliseconds(100)
    /// A sender that has died is started again within this time, by the process that started it.
    private static let patience = Duration.seconds(2)
    private static let farewellTime = Duration.seconds(3)
    /// From one start of a sender that ends at once to the next.
    private static let startTime = Duration.seconds(1)

    private let directory: BridgeDirectory
    private let own: OwnSender
    private let startSender: () throws(SystemError) -> ChildProcess
    private let noteClip: ([String]) -> Void
    private var sender: ChildProcess?
    private var startedAt: Instant?
    /// Since when the recorder waits for a connection; nil if it does not.
    private var askedAt: Instant?
    private var wasConnected = false

    /// - Parameters:
    ///   - directory: the broadcast's folder.
    ///   - startSender: starts a sender that has no calls.
    ///   - noteClip: gets the names of the files of each clip. A recorder that was taken over may send any, but with no slash.
    package init(
        in directory: BridgeDirectory,
        _ own: OwnSender,
        startSender: @escaping () throws(SystemError) -> ChildProcess,
        noteClip: @escaping ([String]) -> Void
    ) {
        (self.directory, self.own, self.startSender) = (directory, own, startSender)
        self.noteClip = noteClip
    }

    /// Answers each question with a connection to a sender, as soon as there is one, or refuses it once the broadcast has ended. Ends with
    /// the recorder.
    package mutating func run(_ channel: consuming DescriptorChannel) throws(SystemError) {
        defer { endSender() }
        while true {
            waitReadable(channel.raw, until: askedAt.map { _ in MonotonicClock.now() + Self.restTime })
            switch channel.receive() {
            case .question: askedAt = MonotonicClock.now()
            case .note(let names): noteClip(names.split(separator: "/").map { String($0) })
            case .end: return
            case nil: break
            }
            guard let askedAt else { continue }
            if let connection = try connect(since: askedAt) {
                try channel.give(connection)
                (self.askedAt, wasConnected) = (nil, true)
            } else if wasConnected || own != .never, BroadcastGlance(directory).hasEnded {
                channel.refuse()
                self.askedAt = nil
            }
        }
    }

    /// Nil while there is no sender.
    private mutating func connect(since: Instant) throws(SystemError) -> FileDescriptor? {
        if sender?.takeExit() != nil { sender = nil }
        if let connection = connection() { return connection }
        let now: Instant = MonotonicClock.now()
        let isNeeded =
            switch own {
            case .always: true
            case .ifNeeded: now > since + Self.patience
            case .never: false
            }
        guard isNeeded, sender == nil, startedAt.map({ now > $0 + Self.startTime }) ?? true,
            !BroadcastGlance(directory).hasEnded
        else { return nil }
        sender = try startSender()
        startedAt = now
        return nil
    }

    private func connection() -> FileDescriptor? {
        for folder in ProcessFolder.all(.sender, in: directory) where own != .always || folder.pid == sender?.pid {
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
