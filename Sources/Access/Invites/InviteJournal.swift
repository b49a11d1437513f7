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
        let kept = PrivateFile("\(folder.path)/\(name)")
        let now = clocks()
        do throws(SystemError) {
            guard let former = try kept.hold() else { return nil }
            let (invites, ignored) = InviteRecord.invites(in: try text(of: former), now, goesOn: goesOn)
            let records = invites.flatMap { InviteRecord.records(of: $0, now) }
            let file = try kept.replaceHeld(by: records.map { $0.line }.joined())
            removeEnded(in: folder, but: name, now)
            return (InviteJournal(file, kept.path, clocks), invites, ignored)
        } catch {
            throw Failure(path: kept.path, reason: error.reason)
        }
    }

    init(_ file: consuming FileDescriptor, _ path: String, _ clocks: @escaping @Sendable () -> InviteClocks) {
        (self.path, self.clocks) = (path, clocks)
        self.file = file
    }

    private static func removeEnded(in folder: StateFolder, but name: String, _ clocks: InviteClocks) {
        guard let directory = try? FileDescriptor.open(folder.path, O_RDONLY | O_DIRECTORY) else { return }
        for other in directory.entries() where other != name && !other.hasPrefix(".") {
            let kept = PrivateFile("\(folder.path)/\(other)")
            guard let file = try? kept.hold(creates: false), let text = try? text(of: file) else { continue }
            // A sender that was killed may have left a file that never took its place.
            let isPart = other.hasSuffix(".part")
            guard isPart || InviteRecord.invites(in: text, clocks, goesOn: true).invites.isEmpty else { continue }
            try? kept.remove()
        }
    }

    private static func text(of file: borrowing FileDescriptor) throws(SystemError) -> String {
        String(decoding: try file.readBytes(min(Int(try file.status().st_size), longest)), as: UTF8.self)
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
