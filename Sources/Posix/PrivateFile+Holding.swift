import Glibc

/// Files that one process has for itself, as long as it keeps the descriptor.
extension PrivateFile {
    /// Opens the file, and takes its lock.
    ///
    /// - Parameter creates: whether it is made if it is not there.
    /// - Returns: nil if another process has it.
    /// - Throws: EPERM if it is not a plain file of this user alone.
    package func hold(creates: Bool = true) throws(SystemError) -> FileDescriptor? {
        while true {
            let file = try FileDescriptor.open(path, creates ? O_RDWR | O_CREAT : O_RDWR | O_NONBLOCK)
            let held = try file.status()
            guard held.st_mode & S_IFMT == S_IFREG, held.st_uid == geteuid(), held.st_mode & 0o077 == 0 else {
                throw SystemError("open", code: EPERM)
            }
            guard try file.tryLock(.exclusive) else { return nil }
            // It may have been replaced or removed before it was locked.
            let there = try? FileDescriptor.open(path, O_RDONLY | O_NONBLOCK).status()
            if held.st_ino == there?.st_ino, held.st_dev == there?.st_dev { return file }
        }
    }

    /// Replaces a file that this process holds. The new one is locked before another process can find it.
    ///
    /// - Returns: the new file, to which text can be added.
    package func replaceHeld(by text: String) throws(SystemError) -> FileDescriptor {
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
}
