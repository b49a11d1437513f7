package import FrameBridge
package import Posix
import Time

/// The process that connects a recorder to senders. The recorder itself may open no socket.
package enum FeedConnector {
    private static let restTime = Duration.milliseconds(100)
    /// For the recorder in its sandbox, a file descriptor each time that it asks.
    package static let descriptor: Int32 = 0

    /// Answers each question with a connection to a sender, as soon as there is one. Ends with the recorder, or with the broadcast.
    ///
    /// - Parameter directory: the broadcast's folder.
    package static func run(_ channel: consuming DescriptorChannel, in directory: BridgeDirectory) throws(SystemError) {
        while channel.waitForQuestion() {
            while true {
                if channel.isAbandoned { return }
                if let connection = connect(in: directory) {
                    try channel.give(connection)
                    break
                }
                if BroadcastGlance(directory).hasEnded { return }
                MonotonicClock.sleep(for: restTime)
            }
        }
    }

    private static func connect(in directory: BridgeDirectory) -> FileDescriptor? {
        for folder in SenderFolder.all(in: directory) {
            let deadline = MonotonicClock.now() + restTime
            if let channel = try? folder.connect(until: deadline) { return channel.release() }
        }
        return nil
    }
}
