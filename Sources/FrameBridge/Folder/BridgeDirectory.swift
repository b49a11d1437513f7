import Glibc
import Posix
import Time

/// The private folder of one broadcast: `writer.lock`, `reader.lock`, `status`, `control`, `frames.<generation>`, `sound.lock`,
/// `sound.<generation>`, `senders`, `recorders`.
///
/// The folder is opened once, and checked to be this user's alone (owner, no permission for group or others). Every
/// file in it is opened relative to that descriptor, without following links, and checked the same way.
public final class BridgeDirectory: Sendable {
    /// The folder's path, for messages.
    public let path: String
    let descriptor: FileDescriptor
    /// Asks writers for sealed memory. Made early, as a process may give up making sockets; -1 if it already has.
    private let asker: FileDescriptor

    /// How long a writer may take to hand out its memory. One that does not get to run never does.
    private static let answerTime = Duration.milliseconds(250)

    /// `$XDG_RUNTIME_DIR/oriel/NAME`, or without that variable `oriel-<uid>/NAME` in `$TMPDIR` or `/tmp`.
    public static func defaultPath(name: String) throws(BridgeError) -> String {
        let valid = name.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "._-".contains($0)) }
        guard valid, 1...64 ~= name.utf8.count, name.first != "." else { throw .invalidName(name) }
        if let runtime = StateFolder.environment("XDG_RUNTIME_DIR") {
            try checkUnshared(runtime)
            return "\(runtime)/oriel/\(name)"
        }
        return "\(StateFolder.environment("TMPDIR") ?? "/tmp")/oriel-\(geteuid())/\(name)"
    }

    /// The folders of this user's broadcasts in a parent folder.
    package static func all(in parent: String) -> [BridgeDirectory] {
        let folder = try? FileDescriptor.open(parent, O_RDONLY | O_DIRECTORY)
        let names = folder?.entries().filter { !$0.hasPrefix(".") }.sorted() ?? []
        return names.compactMap { try? BridgeDirectory(path: "\(parent)/\($0)", create: false) }
    }

    /// Opens the folder.
    ///
    /// - Parameters:
    ///   - path: the broadcast's folder.
    ///   - create: make it, and its parent folder, with mode 0700 if they are missing.
    public init(path: String, create: Bool) throws(BridgeError) {
        let slash = path.lastIndex(of: "/")
        let parent = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        if create {
            try Self.make(parent)
            // Other users could swap the folder if they can write in its parent.
            try Self.checkUnshared(parent)
            try Self.make(path)
        }
        do {
            descriptor = try FileDescriptor.open(path, O_RDONLY | O_DIRECTORY)
        } catch  where error.code == ENOENT {
            throw .noBroadcast(path: path)
        } catch {
            throw .noRuntimeDirectory(path: path, error)
        }
        asker = (try? FileDescriptor.datagramSocket()) ?? FileDescriptor(taking: -1)
        self.path = path
        try Self.checkPrivate(descriptor, path: path, type: S_IFDIR)
    }

    /// Makes a folder unless it exists.
    private static func make(_ path: String) throws(BridgeError) {
        if mkdir(path, 0o700) != 0, errno != EEXIST { throw .noRuntimeDirectory(path: path, SystemError("mkdir")) }
    }

    /// Refuses a folder in which other users could rename or remove entries.
    static func checkUnshared(_ path: String) throws(BridgeError) {
        var info = stat()
        guard stat(path, &info) == 0 else { throw .noRuntimeDirectory(path: path, SystemError("stat")) }
        guard info.st_mode & S_IFMT == S_IFDIR else {
            throw .noRuntimeDirectory(path: path, SystemError("mkdir", code: ENOTDIR))
        }
        guard info.st_uid == geteuid() || info.st_uid == 0 else {
            throw .notPrivate(path: path, problem: "belongs to user \(info.st_uid)")
        }
        // In a sticky folder such as /tmp, nobody can rename files of another user.
        guard info.st_mode & 0o022 == 0 || info.st_mode & S_ISVTX != 0 else {
            throw .notPrivate(path: path, problem: "can be written by others")
        }
    }

    static func checkPrivate(
        _ file: borrowing FileDescriptor,
        path: String,
        type: mode_t = S_IFREG
    ) throws(BridgeError) {
        let info: stat
        do { info = try file.status() } catch { throw .system(path: path, error) }
        guard info.st_mode & S_IFMT == type else { throw .notPrivate(path: path, problem: "is not a plain file") }
        guard info.st_uid == geteuid() else {
            throw .notPrivate(path: path, problem: "belongs to user \(info.st_uid)")
        }
        guard info.st_mode & 0o077 == 0 else { throw .notPrivate(path: path, problem: "is open to others") }
    }

    func path(of file: String) -> String { "\(path)/\(file)" }

    /// Opens a file of the folder and checks it; nil if there is none. `O_NONBLOCK` keeps a planted FIFO from blocking
    /// this process.
    func open(_ file: String, _ flags: Int32) throws(BridgeError) -> FileDescriptor? {
        let opened: FileDescriptor
        do {
            opened = try descriptor.open(file, flags | O_NONBLOCK)
        } catch {
            switch error.code {
            case ENOENT: return nil
            case ELOOP, ENXIO, EISDIR: throw .notPrivate(path: path(of: file), problem: "is not a plain file")
            default: throw .system(path: path(of: file), error)
            }
        }
        try Self.checkPrivate(opened, path: path(of: file))
        return opened
    }

    /// Opens a ring's file of one generation for reading, a file or sealed memory; nil if there is none.
    func openRing(_ name: String) throws(BridgeError) -> FileDescriptor? {
        guard kind(of: name) == S_IFSOCK else { return try open(name, O_RDONLY) }
        let deadline = MonotonicClock.now() + Self.answerTime
        let memory: FileDescriptor
        do {
            memory = try DescriptorService.ask(at: name, in: descriptor, with: asker, until: deadline)
        } catch {
            switch error.code {
            // The writer has just gone, or has made another generation.
            case ENOENT, ECONNREFUSED, ECONNRESET, EPIPE: return nil
            // The writer does not get to run, or the system is short of a resource for now.
            case ETIMEDOUT, EAGAIN, ENOBUFS, ENOMEM, ETOOMANYREFS: throw .noAnswer(path: path)
            default: throw .system(path: path(of: name), error)
            }
        }
        // Memory without seals could shrink while it is read.
        guard memory.isSealed else { throw .notPrivate(path: path(of: name), problem: "is not sealed") }
        return memory
    }

    /// Runs system calls on a file of the folder, and names the file if one fails.
    func calling<Result: ~Copyable>(
        on file: String,
        _ body: () throws(SystemError) -> Result
    ) throws(BridgeError) -> Result {
        do { return try body() } catch { throw .system(path: path(of: file), error) }
    }

    /// Opens one of the lock files. They are made once, and never renamed or removed.
    ///
    /// - Parameter access: writing for an exclusive lock, reading for a shared one.
    func openLock(_ file: String, _ access: Int32 = O_RDWR) throws(BridgeError) -> FileDescriptor {
        guard let lock = try open(file, access | O_CREAT) else { throw .noBroadcast(path: path) }
        return lock
    }

    /// The whole of a small text file; nil if there is none.
    func readText(_ file: String, limit: Int) throws(BridgeError) -> String? {
        guard let opened = try open(file, O_RDONLY) else { return nil }
        let bytes = try calling(on: file) { () throws(SystemError) in try opened.readBytes(limit) }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The file that a text is written into before it replaces another.
    static func spare(_ file: String) -> String { "." + file }

    /// Replaces a text file of at most 1024 bytes in one step. Only the holder of the writer's lock may call it. The
    /// file for the next time is kept ready, so this takes no room.
    func replaceText(_ file: String, with text: String) throws(BridgeError) {
        let spare = Self.spare(file)
        do throws(SystemError) {
            let opened = try openSpare(spare)
            let raw = opened.raw
            try opened.write(Array(text.utf8), at: 0)
            try check("ftruncate") { ftruncate(raw, off_t(text.utf8.count)) }
            try check("rename") { renameat(descriptor.raw, spare, descriptor.raw, file) }
            try? openSpare(spare).write([UInt8](repeating: 0, count: 1024), at: 0)
        } catch {
            throw .writing(file, text.utf8.count, in: self, error)
        }
    }

    /// Opens or makes a file of this user for writing. Removes any other entry of that name.
    private func openSpare(_ name: String) throws(SystemError) -> FileDescriptor {
        if let found = try? open(name, O_WRONLY) { return found }
        unlinkat(descriptor.raw, name, 0)
        return try descriptor.open(name, O_WRONLY | O_CREAT | O_EXCL)
    }

    /// Removes a file. Returns whether it is gone.
    @discardableResult
    func remove(_ file: String) -> Bool { unlinkat(descriptor.raw, file, 0) == 0 || errno == ENOENT }

    /// The attributes of an entry of the folder; nil if there is none.
    func attributes(of file: String) -> stat? {
        var info = stat()
        return fstatat(descriptor.raw, file, &info, AT_SYMLINK_NOFOLLOW) == 0 ? info : nil
    }

    /// The kind of an entry of the folder, such as `S_IFREG`; nil if there is none.
    func kind(of file: String) -> mode_t? { attributes(of: file).map { $0.st_mode & S_IFMT } }

    func fileNames() -> [String] { descriptor.entries() }
}
