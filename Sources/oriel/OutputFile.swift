import Glibc
import Posix

/// Files that a person names on the command line.
enum OutputFile {
    /// Writes a file through `body`, in one step: who looks early finds what was there before, or all of it. What is no
    /// plain file, such as `/dev/stdout`, is written to as it stands.
    ///
    /// - Parameter body: gets the path to write to.
    static func replace(_ path: String, _ body: (String) throws -> Void) throws {
        var info = stat()
        if stat(path, &info) == 0, info.st_mode & S_IFMT != S_IFREG { return try body(path) }
        let temporary = "\(path).\(getpid()).part"
        do {
            try body(temporary)
            try check("rename") { rename(temporary, path) }
        } catch {
            unlink(temporary)
            throw error
        }
    }

    /// Opens a file to append to or to fill, through links.
    static func open(_ path: String, _ flags: Int32) throws(SystemError) -> FileDescriptor {
        FileDescriptor(taking: try check("open") { Glibc.open(path, flags | O_WRONLY | O_CREAT | O_CLOEXEC, 0o600) })
    }

    /// The sentence for a file that could not be written.
    static func failure(_ path: String, _ reason: String) -> Failure {
        Failure(.failed, "cannot write \(path) (\(reason)): choose another file")
    }
}
