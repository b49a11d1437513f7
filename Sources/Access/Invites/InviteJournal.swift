import Glibc
import JSON
package import Posix
import Synchronization
import Time

/// The invitations of a sender over its crash: a file of this user alone, to which lines are added. It holds no token, only
/// their SHA-256.
///
/// A sandbox may bind the sender later: the file is open from the start, and never replaced while it runs.
package final class InviteJournal: Sendable {
    /// The largest file that is read, in bytes: as many as a sender can make.
    private static let longest = 16 << 20

    package struct Failure: Error, CustomStringConvertible {
        let path: String
        let reason: String

        package var description: String {
            "cannot keep invitations in \(path) (\(reason)): those of now end with this sender"
        }
    }

    /// Locked as long as this object is there.
    private let file: FileDescriptor
    package let path: String
    private let clocks: @Sendable () -> InviteClocks
    private let isBroken = Atomic(false)

    /// Opens a sender's journal, and reads what the one before has left. Removes journals of others that have ended, with all
    /// their invitations.
    ///
    /// - Parameters:
    ///   - name: of the file, one for each address that is served.
    ///   - goesOn: whether this sender goes on with the work of one that died.
    /// - Returns: the journal, its invitations, and the number of its lines that make no sense; nil if another sender has the file.
    package static func open(
        _ name: String,
        in state: StateFolder,
        goesOn: Bool,
        clocks: @escaping @Sendable () -> InviteClocks
    ) throws(Failure) -> (journal: InviteJournal, invites: [Invite], ignored: Int)? {
        let folder = state.folder("invites")
        folder.make()
        let path = "\(folder.path)/\(name)"
        let now = clocks()
        do throws(SystemError) {
            guard let former = try take(path, O_RDWR | O_CREAT) else { return nil }
            let (invites, ignored) = InviteRecord.invites(in: try text(of: former), now, goesOn: goesOn)
            let records = invites.flatMap { InviteRecord.records(of: $0, now) }
            let file = try replace(path, by: records.map { $0.line }.joined())
            removeEnded(in: folder, but: name, now)
            return (InviteJournal(file, path, clocks), invites, ignored)
        } catch {
            throw Failure(path: path, reason: error.reason)
        }
    }

    init(_ file: consuming FileDescriptor, _ path: String, _ clocks: @escaping @Sendable () -> InviteClocks) {
        (self.path, self.clocks) = (path, clocks)
        self.file = file
    }

    /// Opens and locks the file at a path.
    ///
    /// - Returns: nil if another sender has it.
    private static func take(_ path: String, _ flags: Int32) throws(SystemError) -> FileDescriptor? {
        while true {
            let file = try FileDescriptor.open(path, flags)
            guard try file.tryLock(.exclusive) else { return nil }
            // It may have been replaced or removed meanwhile.
            let (held, there) = (try file.status(), try? FileDescriptor.open(path, O_RDONLY).status())
            if held.st_ino == there?.st_ino, held.st_dev == there?.st_dev { return file }
        }
    }

    private static func text(of file: borrowing FileDescriptor) throws(SystemError) -> String {
        let info = try file.status()
        guard info.st_mode & S_IFMT == S_IFREG, info.st_uid == geteuid(), info.st_mode & 0o077 == 0 else {
            throw SystemError("open", code: EPERM)
        }
        return String(decoding: try file.readBytes(min(Int(info.st_size), longest)), as: UTF8.self)
    }

    /// - Returns: the new file, locked before others can find it.
    private static func replace(_ path: String, by text: String) throws(SystemError) -> FileDescriptor {
        let part = "\(path).\(getpid()).part"
        // An ended process may have left one.
        unlink(part)
        defer { unlink(part) }
        let file = try FileDescriptor.open(part, O_RDWR | O_CREAT | O_EXCL | O_APPEND)
        guard try file.tryLock(.exclusive) else { throw SystemError("fcntl", code: EAGAIN) }
        try file.write(text)
        try check("rename") { rename(part, path) }
        return file
    }

    private static func removeEnded(in folder: StateFolder, but name: String, _ clocks: InviteClocks) {
        guard let directory = try? FileDescriptor.open(folder.path, O_RDONLY | O_DIRECTORY) else { return }
        for other in directory.entries() where other != name && !other.hasPrefix(".") {
            let path = "\(folder.path)/\(other)"
            guard let file = try? take(path, O_RDWR), let text = try? text(of: file),
                InviteRecord.invites(in: text, clocks, goesOn: true).invites.isEmpty
            else { continue }
            unlink(path)
        }
    }

    /// Adds a line. If that fails, the file is emptied, as an invitation that was taken back must not come again.
    package func note(_ change: Invites.Change) throws(Failure) {
        if isBroken.load(ordering: .relaxed) { return }
        do throws(SystemError) { try file.write(InviteRecord(change, clocks()).line) } catch {
            isBroken.store(true, ordering: .relaxed)
            try? file.truncate(to: 0)
            throw Failure(path: path, reason: error.reason)
        }
    }
}

extension InviteRecord {
    /// Texts and numbers can always be encoded.
    fileprivate var line: String { (try? jsonLine()).map { "\($0)\n" } ?? "" }
}
