import Glibc
import Posix

/// Files that a person names on the command line.
enum OutputFile {
    /// Writes a file in one step: a program that reads it early finds what it held before, or all of the new. If the path
    /// names something else than a plain file, such as `/dev/stdout`, that is written to directly.
    ///
    /// - Parameter body: writes to the path that it gets.
    static func replace(_ path: String, _ body: (String) throws -> Void) throws {
        var info = stat()
        let isReplaced = stat(path, &info) != 0 || info.st_mode & S_IFMT == S_IFREG
        let target = isReplaced ? "\(path).\(getpid()).part" : path
        do {
            try body(target)
            if isReplaced { try check("rename") { rename(target, path) } }
        } catch {
            if isReplaced { unlink(target) }
            if let error = error as? SystemError { throw failure(path, error.reason) }
            throw error
        }
    }

    /// Opens a file to write to, through links, and makes it if there is none.
    ///
    /// - Parameter flags: `O_APPEND` or `O_TRUNC`.
    static func open(_ path: String, _ flags: Int32) throws(SystemError) -> FileDescriptor {
        FileDescriptor(taking: try check("open") { Glibc.open(path, flags | O_WRONLY | O_CREAT | O_CLOEXEC, 0o600) })
    }

    /// Throws the sentence for a file that cannot be appended to. A pipe is not looked at: its reader would take this for all that
    /// comes.
    static func requireWritable(_ path: String) throws(Failure) {
        var info = stat()
        if stat(path, &info) == 0, info.st_mode & S_IFMT == S_IFIFO { return }
        do throws(SystemError) { _ = try open(path, O_APPEND) } catch { throw failure(path, error.reason) }
    }

    /// The sentence for a file that could not be written.
    static func failure(_ path: String, _ reason: String) -> Failure {
        Failure(.failed, "cannot write \(path) (\(reason)): choose another file")
    }
}
