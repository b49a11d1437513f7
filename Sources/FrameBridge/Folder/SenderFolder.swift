import Glibc
package import Posix
package import Time

/// The folder of one sender, `senders/PID` in the broadcast's folder. It holds `control`, the socket for commands to
/// the sender. A sender only reads the files that the capture process obeys and readers trust.
package struct SenderFolder: Sendable {
    private static let parent = "senders"
    private static let socket = "control"

    package let pid: Int32
    let directory: BridgeDirectory

    package var path: String { directory.path }

    /// Makes the empty folder of this process, and removes those of senders that have ended: a sender in its sandbox
    /// cannot remove its own.
    package init(in broadcast: BridgeDirectory) throws(BridgeError) {
        Self.removeDead(in: broadcast)
        pid = getpid()
        directory = try BridgeDirectory(path: Self.path(of: pid, in: broadcast), create: true)
        // A sender in another container may have the same process number.
        if let isHeld = try? directory.descriptor.isLockedByAnother(against: .exclusive), isHeld {
            throw .notPrivate(path: directory.path, problem: "is in use by a sender in another container")
        }
        clear()
        _ = try? directory.descriptor.tryLock(.shared)
    }

    private init(of pid: Int32, in broadcast: BridgeDirectory) throws(BridgeError) {
        self.pid = pid
        directory = try BridgeDirectory(path: Self.path(of: pid, in: broadcast), create: false)
    }

    private static func path(of pid: Int32, in broadcast: BridgeDirectory) -> String {
        "\(broadcast.path(of: parent))/\(pid)"
    }

    /// The folders of all senders that live. Removes the others.
    package static func all(in broadcast: BridgeDirectory) -> [SenderFolder] {
        removeDead(in: broadcast)
        return owners(in: broadcast).compactMap { try? SenderFolder(of: $0, in: broadcast) }
    }

    /// Removes the folders of senders that have ended: no process has the number, and none holds a lock on the folder,
    /// as a sender in another container does.
    package static func removeDead(in broadcast: BridgeDirectory) {
        for pid in owners(in: broadcast) where kill(pid, 0) != 0 && errno == ESRCH {
            guard let dead = try? SenderFolder(of: pid, in: broadcast),
                let isHeld = try? dead.directory.descriptor.isLockedByAnother(against: .exclusive), !isHeld
            else { continue }
            dead.clear()
            unlinkat(broadcast.descriptor.raw, "\(parent)/\(pid)", AT_REMOVEDIR)
        }
    }

    private static func owners(in broadcast: BridgeDirectory) -> [Int32] {
        let folder = try? broadcast.descriptor.open(parent, O_RDONLY | O_DIRECTORY)
        // "+5" and "05" are 5 too, but a sender's folder is named "5".
        return folder?.entries().compactMap { name in Int32(name).flatMap { "\($0)" == name ? $0 : nil } } ?? []
    }

    /// Makes the socket for commands to this sender. Call it once, before the process gives up making Unix sockets.
    package func listen() throws(BridgeError) -> LocalListener {
        try directory.calling(on: Self.socket) { () throws(SystemError) in
            try LocalListener(at: Self.socket, in: directory.descriptor)
        }
    }

    /// Connects to the sender.
    ///
    /// - Throws: as `LineChannel` does.
    package func connect(until deadline: Instant) throws(SystemError) -> LineChannel {
        try LineChannel(to: Self.socket, in: directory.descriptor, until: deadline)
    }

    private func clear() { for name in directory.fileNames() { directory.remove(name) } }
}
