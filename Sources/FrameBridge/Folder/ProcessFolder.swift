import Glibc
package import Posix
package import Time

/// The folder of one sender or recorder, such as `senders/PID` in the broadcast's folder. It holds `control`, the socket for
/// commands to the process. These processes only read the files that the capture process obeys and readers trust.
package struct ProcessFolder: Sendable {
    package enum Kind: String, CaseIterable, Sendable {
        case sender = "senders"
        case recorder = "recorders"
    }

    private static let socket = "control"

    package let pid: Int32
    let directory: BridgeDirectory

    package var path: String { directory.path }

    /// Makes the empty folder of this process, and removes those of its kind that have ended: a process in its sandbox
    /// cannot remove its own.
    package init(_ kind: Kind, in broadcast: BridgeDirectory) throws(BridgeError) {
        Self.removeDead(kind, in: broadcast)
        pid = getpid()
        directory = try BridgeDirectory(path: Self.path(of: pid, kind, in: broadcast), create: true)
        // A process in another container may have the same number.
        if let isHeld = try? directory.descriptor.isLockedByAnother(against: .exclusive), isHeld {
            throw .notPrivate(path: directory.path, problem: "is in use by a \(kind) in another container")
        }
        clear()
        _ = try? directory.descriptor.tryLock(.shared)
    }

    private init(of pid: Int32, _ kind: Kind, in broadcast: BridgeDirectory) throws(BridgeError) {
        self.pid = pid
        directory = try BridgeDirectory(path: Self.path(of: pid, kind, in: broadcast), create: false)
    }

    private static func path(of pid: Int32, _ kind: Kind, in broadcast: BridgeDirectory) -> String {
        "\(broadcast.path(of: kind.rawValue))/\(pid)"
    }

    /// The folders of all processes of a kind that live. Removes the others.
    package static func all(_ kind: Kind, in broadcast: BridgeDirectory) -> [ProcessFolder] {
        removeDead(kind, in: broadcast)
        return owners(kind, in: broadcast).compactMap { try? ProcessFolder(of: $0, kind, in: broadcast) }
    }

    /// Removes the folders of processes that have ended: no process has the number, and none holds a lock on the folder,
    /// as one in another container does.
    package static func removeDead(_ kind: Kind, in broadcast: BridgeDirectory) {
        for pid in owners(kind, in: broadcast) where kill(pid, 0) != 0 && errno == ESRCH {
            guard let dead = try? ProcessFolder(of: pid, kind, in: broadcast),
                let isHeld = try? dead.directory.descriptor.isLockedByAnother(against: .exclusive), !isHeld
            else { continue }
            dead.clear()
            unlinkat(broadcast.descriptor.raw, "\(kind.rawValue)/\(pid)", AT_REMOVEDIR)
        }
    }

    private static func owners(_ kind: Kind, in broadcast: BridgeDirectory) -> [Int32] {
        let folder = try? broadcast.descriptor.open(kind.rawValue, O_RDONLY | O_DIRECTORY)
        // "+5" and "05" are 5 too, but a process's folder is named "5".
        return folder?.entries().compactMap { name in Int32(name).flatMap { "\($0)" == name ? $0 : nil } } ?? []
    }

    /// Makes the socket for commands to this process. Call it once, before the process gives up making Unix sockets.
    package func listen() throws(BridgeError) -> LocalListener {
        try directory.calling(on: Self.socket) { () throws(SystemError) in
            try LocalListener(at: Self.socket, in: directory.descriptor)
        }
    }

    /// Connects to the process.
    ///
    /// - Throws: as `LineChannel` does.
    package func connect(until deadline: Instant) throws(SystemError) -> LineChannel {
        try LineChannel(to: Self.socket, in: directory.descriptor, until: deadline)
    }

    private func clear() { for name in directory.fileNames() { directory.remove(name) } }
}
