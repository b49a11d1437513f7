import Glibc
import JSON
package import Posix

/// The guests of senders with `--accept known`: a file of this user, with one JSON object a line.
///
/// The file is alone in its folder, the only one that the approving process may write. Its content lets nobody in: it
/// holds only the SHA-256 of a browser's secret.
package struct GuestStore: Sendable {
    package struct Entry: Codable, Sendable, Equatable {
        package let key: GuestKey
        package let name: String
        /// When it was accepted with "always", in RFC 3339.
        package let since: String
    }

    /// Unicode scalars of a name. A sender that was taken over may send a longer one.
    private static let longestName = 60
    /// The largest file that is read, in bytes. A thousand guests take a fifth of it.
    private static let longest = 1 << 20
    private static let patience = Duration.seconds(2)

    private let file: PrivateFile
    /// The file of earlier versions.
    private let formerFile: PrivateFile
    private let folder: StateFolder

    /// - Parameter environment: returns a variable's value.
    package init(environment: (String) -> String? = StateFolder.environment) throws(StateFolder.Missing) {
        let state = try StateFolder(for: "the known viewers", environment: environment)
        folder = state.folder("visitors")
        file = PrivateFile("\(folder.path)/known")
        formerFile = PrivateFile("\(state.path)/known")
    }

    package var path: String { file.path }

    /// The guests in the file; empty if there is none.
    package func load() throws(GuestStoreError) -> [Entry] {
        try moveFormerFile()
        let bytes: [UInt8]
        do throws(SystemError) {
            guard let file = try file.open(refusing: 0o022) else { return [] }
            bytes = try file.readBytes(Self.longest + 1)
        } catch {
            throw .unreadable(path: path, reason: error.reason)
        }
        let entries = String(decoding: bytes, as: UTF8.self).split(separator: "\n").map {
            try? Entry(jsonLine: String($0))
        }
        guard bytes.count <= Self.longest, !entries.contains(where: { $0 == nil }) else { throw .damaged(path: path) }
        return entries.compactMap(\.self)
    }

    /// Adds a guest, which need not knock from now on.
    package func remember(_ key: GuestKey, name: String) throws(GuestStoreError) {
        let name = String(String.UnicodeScalarView(name.unicodeScalars.prefix(Self.longestName)))
        try change { entries in
            entries.removeAll { $0.key == key }
            let now = internetTime(nanosecondsSince1970: MonotonicClock.wallClock())
            entries.append(Entry(key: key, name: name, since: now))
        }
    }

    /// Removes guests, which have to knock again.
    ///
    /// - Returns: how many there were.
    @discardableResult
    package func forget(where isMeant: (Entry) -> Bool) throws(GuestStoreError) -> Int {
        try moveFormerFile()
        if !file.exists { return 0 }
        var count = 0
        try change { entries in
            count = entries.count(where: isMeant)
            entries.removeAll(where: isMeant)
        }
        return count
    }

    /// Removes the file, even a damaged one.
    package func forgetAll() throws(GuestStoreError) {
        for file in [file, formerFile] {
            do throws(SystemError) { try file.remove() } catch {
                throw .unwritable(path: file.path, reason: error.reason)
            }
        }
    }

    /// Moves the file of earlier versions to its present place, unless one is there.
    private func moveFormerFile() throws(GuestStoreError) {
        guard formerFile.exists, !file.exists else { return }
        folder.make()
        do throws(SystemError) { try file.take(formerFile) } catch {
            throw .notMoved(from: formerFile.path, to: path, reason: error.reason)
        }
    }

    /// Changes the file in one step. Other processes wait.
    private func change(_ body: (inout [Entry]) -> Void) throws(GuestStoreError) {
        folder.make()
        let held: FileDescriptor?
        do throws(SystemError) { held = try folder.lock(patience: Self.patience) } catch {
            throw .unwritable(path: path, reason: error.reason)
        }
        guard let lock = consume held else { throw .busy(lock: folder.lockPath) }
        defer { withExtendedLifetime(lock) {} }
        var entries = try load()
        body(&entries)
        let text = entries.compactMap { try? $0.printableJSONLine() + "\n" }.joined()
        // A longer file could not be read again.
        guard text.utf8.count <= Self.longest else { throw .full(path: path) }
        do throws(SystemError) { try file.write(text, .replacing) } catch {
            throw .unwritable(path: path, reason: error.reason)
        }
    }

    /// Makes the file's folder, unless it exists, and moves the file of earlier versions into it.
    ///
    /// - Returns: its path; nil if it cannot be made.
    package func makeFolder() -> String? {
        // A failure to move the file is reported when the file is read.
        try? moveFormerFile()
        return folder.make() ? folder.path : nil
    }
}

package enum GuestStoreError: Error, Equatable, CustomStringConvertible {
    case unreadable(path: String, reason: String)
    case damaged(path: String)
    case notMoved(from: String, to: String, reason: String)
    /// Another process is changing the file; try again later.
    case busy(lock: String)
    case full(path: String)
    case unwritable(path: String, reason: String)

    package var description: String {
        switch self {
        case .unreadable(let path, let reason):
            "cannot read \(path) (\(reason)), so nobody is known: make it a file that only you can write"
        case .damaged(let path):
            "\(path) is damaged, so nobody is known: repair it, or begin anew with \"oriel forget --all\""
        case .notMoved(let former, let path, let reason):
            "cannot move \(former) to \(path) (\(reason)): move it there"
        case .busy(let lock): "another process holds \(lock): try again"
        case .full(let path): "\(path) is full: make room with \"oriel forget\""
        case .unwritable(let path, let reason): "cannot write \(path) (\(reason)): choose another file"
        }
    }
}
