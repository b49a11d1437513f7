import Glibc

/// A file that only this user may write, and that is replaced in one step: a reader finds either its old content or all
/// of the new.
package struct PrivateFile: Sendable {
    package enum Placing: Sendable {
        case replacing
        /// An existing file stays, and counts as success: another process may just have made it.
        case keeping
    }

    package let path: String

    package init(_ path: String) { self.path = path }

    /// - Parameter rights: rights of others that make the file unfit: `0o022` to write it, `0o077` any.
    /// - Returns: nil if there is none.
    /// - Throws: EPERM if it is not a plain file of this user, or gives others such rights.
    package func open(refusing rights: UInt32) throws(SystemError) -> FileDescriptor? {
        let file: FileDescriptor
        do throws(SystemError) { file = try FileDescriptor.open(path, O_RDONLY | O_NONBLOCK) } catch {
            if error.code == ENOENT { return nil }
            throw error
        }
        let info = try file.status()
        guard info.st_mode & S_IFMT == S_IFREG, info.st_uid == geteuid(), info.st_mode & rights == 0 else {
            throw SystemError("open", code: EPERM)
        }
        return file
    }

    /// Writes the file, with mode 0600. Links are never followed.
    ///
    /// - Parameter isDurable: whether it is on the disk, also after a power cut, when this returns.
    package func write(_ text: String, _ placing: Placing, isDurable: Bool = false) throws(SystemError) {
        let part = "\(path).\(getpid()).part"
        // An ended process may have left one.
        unlink(part)
        defer { unlink(part) }
        let file = try FileDescriptor.open(part, O_WRONLY | O_CREAT | O_EXCL)
        try file.write(text)
        if isDurable { try check("fsync") { fsync(file.raw) } }
        switch placing {
        case .replacing: try check("rename") { rename(part, path) }
        case .keeping: try check("link") { link(part, path) == 0 || errno == EEXIST ? 0 : -1 }
        }
        guard isDurable else { return }
        let folder = try FileDescriptor.open(
            String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)]),
            O_RDONLY | O_DIRECTORY
        )
        try check("fsync") { fsync(folder.raw) }
    }

    package var exists: Bool { access(path, F_OK) == 0 }

    /// Removes the file, if it is there.
    package func remove() throws(SystemError) { try check("unlink") { unlink(path) == 0 || errno == ENOENT ? 0 : -1 } }

    /// Moves a file here. Unlike by a rename, one that another process has just written stays.
    package func take(_ former: PrivateFile) throws(SystemError) {
        try check("link") { link(former.path, path) == 0 || errno == EEXIST || errno == ENOENT ? 0 : -1 }
        unlink(former.path)
    }
}
