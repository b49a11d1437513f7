import Glibc
package import Posix

/// Files that a person names on the command line.
package enum OutputFile {
    /// Writes a file in one step: a program that reads it early finds what it held before, or all of the new. If the path
    /// names something else than a plain file, such as `/dev/stdout`, that is written to directly.
    package static func replace(_ path: String, _ body: (borrowing FileDescriptor) throws -> Void) throws {
        var info = stat()
        let isReplaced = stat(path, &info) != 0 || info.st_mode & S_IFMT == S_IFREG
        let part = "\(path).\(getpid()).part"
        do {
            if isReplaced {
                try body(openNew(part))
                try check("rename") { rename(part, path) }
            } else {
                try body(open(path, O_TRUNC))
            }
        } catch {
            if isReplaced { unlink(part) }
            if let error = error as? SystemError { throw failure(path, error.reason) }
            throw error
        }
    }

    /// Opens a file to write to, also through links such as `/dev/stdout`, and makes it if there is none. A link to nothing is
    /// refused: in a folder that others may write, it says where they would have a file.
    ///
    /// - Parameter flags: `O_APPEND` or `O_TRUNC`.
    package static func open(_ path: String, _ flags: Int32) throws(SystemError) -> FileDescriptor {
        let flags = flags | O_WRONLY | O_CLOEXEC
        // Another process may make the file in between.
        for _ in 0..<2 {
            do throws(SystemError) {
                return FileDescriptor(taking: try check("open") { Glibc.open(path, flags) })
            } catch {
                guard error.code == ENOENT else { throw error }
            }
            do throws(SystemError) { return try .open(path, flags | O_CREAT | O_EXCL) } catch {
                guard error.code == EEXIST else { throw error }
            }
        }
        throw SystemError("open", code: ELOOP)
    }

    /// Makes a file of a name that only this process uses, in place of one that an ended process has left.
    package static func openNew(_ path: String) throws(SystemError) -> FileDescriptor {
        unlink(path)
        return try FileDescriptor.open(path, O_WRONLY | O_CREAT | O_EXCL)
    }

    /// Throws the sentence for a file that cannot be appended to. A pipe is not looked at: its reader would take this for all that
    /// comes.
    package static func requireWritable(_ paths: String?...) throws(Failure) {
        for path in paths.compactMap(\.self) {
            var info = stat()
            if stat(path, &info) == 0, info.st_mode & S_IFMT == S_IFIFO { continue }
            do throws(SystemError) { _ = try open(path, O_APPEND) } catch { throw failure(path, error.reason) }
        }
    }

    package static func failure(_ path: String, _ reason: String) -> Failure {
        Failure(.failed, "cannot write \(path) (\(reason)): choose another file")
    }
}
