import Access
import Glibc
import JSON
import Posix
import Time

/// The viewers that need not ask at a sender with `--accept known`: a file of this user's, with one JSON object a line.
///
/// The file has a folder to itself, the only one that the process which asks may write. Nobody can come in with its content: it holds only
/// the SHA-256 of the secret that a browser keeps.
struct KnownVisitors {
    struct Entry: Codable {
        let key: GuestKey
        let name: String
        /// When it was let in for good, as RFC 3339 writes it.
        let since: String
    }

    /// Unicode scalars of a name. A sender that was taken over may say more.
    private static let longestName = 60
    /// The largest file that is read, in bytes. A thousand visitors take a fifth of it.
    private static let longest = 1 << 20
    private static let patience = Duration.seconds(2)

    private let file: PrivateFile
    /// Where earlier versions had the file.
    private let formerPath: String
    private let folder: StateFolder

    /// - Parameter environment: finds a variable.
    init(environment: (String) -> String? = StateFolder.environment) throws(StateFolder.Missing) {
        let state = try StateFolder(for: "the known viewers", environment: environment)
        folder = state.folder("visitors")
        file = PrivateFile("\(folder.path)/known")
        formerPath = "\(state.path)/known"
    }

    var path: String { file.path }

    /// The visitors in the file; empty if there is none.
    ///
    /// - Throws: a sentence if the file is damaged, or cannot be read.
    func load() throws(Failure) -> [Entry] {
        try moveFormerFile()
        let bytes: [UInt8]
        do throws(SystemError) {
            guard let file = try file.open(refusing: 0o022) else { return [] }
            bytes = try file.readBytes(Self.longest + 1)
        } catch {
            let advice = "make it a file that only you can write"
            throw Failure(.failed, "cannot read \(path) (\(error.reason)), so nobody is known: \(advice)")
        }
        let entries = String(decoding: bytes, as: UTF8.self).split(separator: "\n").map {
            try? Entry(jsonLine: String($0))
        }
        guard bytes.count <= Self.longest, !entries.contains(where: { $0 == nil }) else {
            throw Failure(
                .failed,
                "\(path) is damaged, so nobody is known: repair it, or begin anew with \"oriel forget --all\""
            )
        }
        return entries.compactMap(\.self)
    }

    /// Adds a visitor, which need not ask from now on.
    func add(key: GuestKey, name: String) throws {
        let name = String(String.UnicodeScalarView(name.unicodeScalars.prefix(Self.longestName)))
        try change { entries in
            entries.removeAll { $0.key == key }
            let now = internetTime(nanosecondsSince1970: MonotonicClock.wallClock())
            entries.append(Entry(key: key, name: name, since: now))
        }
    }

    /// Removes visitors, which have to ask again. Returns how many there were.
    @discardableResult
    func remove(where isMeant: (Entry) -> Bool) throws -> Int {
        try moveFormerFile()
        if access(path, F_OK) != 0 { return 0 }
        var count = 0
        try change { entries in
            count = entries.count(where: isMeant)
            entries.removeAll(where: isMeant)
        }
        return count
    }

    /// Removes the file, damaged or not.
    func removeAll() throws {
        for path in [path, formerPath] where unlink(path) != 0 && errno != ENOENT {
            throw OutputFile.failure(path, SystemError("unlink").reason)
        }
    }

    /// Gives the file its present place. One that is there already counts.
    private func moveFormerFile() throws(Failure) {
        guard access(formerPath, F_OK) == 0, access(path, F_OK) != 0 else { return }
        folder.make()
        // Unlike a rename, this replaces no file that another process has just written.
        guard link(formerPath, path) == 0 || errno == EEXIST || errno == ENOENT else {
            let reason = SystemError("link").reason
            throw Failure(.failed, "cannot move \(formerPath) to \(path) (\(reason)): move it there")
        }
        unlink(formerPath)
    }

    /// Changes the file in one step, one process after the other.
    private func change(_ body: (inout [Entry]) -> Void) throws {
        folder.make()
        let lock: FileDescriptor
        do throws(SystemError) { lock = try FileDescriptor.open("\(folder.path)/lock", O_RDWR | O_CREAT) } catch {
            throw OutputFile.failure(path, error.reason)
        }
        let deadline: Instant = MonotonicClock.now() + Self.patience
        while try !lock.tryLock(.exclusive) {
            guard MonotonicClock.now() < deadline else {
                throw Failure(.tryAgain, "another process holds \(folder.path)/lock: try again")
            }
            MonotonicClock.sleep(for: .milliseconds(5))
        }
        var entries = try load()
        body(&entries)
        let text = try entries.map { try $0.printableJSONLine() + "\n" }.joined()
        // What is longer could not be read again.
        guard text.utf8.count <= Self.longest else {
            throw Failure(.failed, "\(path) is full: make room with \"oriel forget\"")
        }
        do throws(SystemError) { try file.write(text, .replacing) } catch {
            throw OutputFile.failure(path, error.reason)
        }
    }

    /// Makes the folder of the file, unless it is there, and moves the file of earlier versions into it.
    ///
    /// - Returns: its path; nil if it cannot be made.
    func makeFolder() -> String? {
        // A file that cannot be moved is told of when it is read.
        try? moveFormerFile()
        return folder.make() ? folder.path : nil
    }
}
