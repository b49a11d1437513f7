import Glibc
import Posix

/// The folder of one sender, `senders/PID` in that of the broadcast. It is all that a sender may write; what the capture
/// process obeys, and what readers believe, it only reads.
package struct SenderFolder: Sendable {
    private static let parent = "senders"

    private let directory: BridgeDirectory

    package var path: String { directory.path }

    /// Makes the folder of this process, empty, and removes those of senders that ended: a sender in its sandbox cannot
    /// remove its own.
    package init(in broadcast: BridgeDirectory) throws(BridgeError) {
        Self.removeDead(in: broadcast)
        directory = try BridgeDirectory(path: Self.path(of: getpid(), in: broadcast), create: true)
        clear()
        _ = try? directory.descriptor.tryLock(.shared)
    }

    private init(of pid: Int32, in broadcast: BridgeDirectory) throws(BridgeError) {
        directory = try BridgeDirectory(path: Self.path(of: pid, in: broadcast), create: false)
    }

    private static func path(of pid: Int32, in broadcast: BridgeDirectory) -> String {
        "\(broadcast.path(of: parent))/\(pid)"
    }

    /// The folders of all senders that live. Removes those of the others.
    package static func all(in broadcast: BridgeDirectory) -> [SenderFolder] {
        removeDead(in: broadcast)
        return owners(in: broadcast).compactMap { try? SenderFolder(of: $0, in: broadcast) }
    }

    /// Removes the folders of senders that have ended: those that no process has the number of, and none holds a lock on, as
    /// a sender in another container does.
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
        return folder?.entries().compactMap { Int32($0) } ?? []
    }

    /// Replaces a small text file in one step.
    package func replace(_ file: String, with text: String) throws(BridgeError) {
        try directory.replaceText(file, with: text)
    }

    /// A small text file, as far as to `limit` bytes; nil when there is none, or it is not what a sender writes.
    package func read(_ file: String, limit: Int) -> String? { (try? directory.readText(file, limit: limit)) ?? nil }

    /// Removes all that is in it.
    package func clear() { for name in directory.fileNames() { directory.remove(name) } }
}
