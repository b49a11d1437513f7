import Glibc
package import Link
package import Posix

/// Work on the file of a transfer; each transfer has a number.
package enum FileJob: Sendable {
    /// A file to send.
    case send(Int, GivenFile)
    /// Hash the bytes before an offset: the other side has them.
    case skip(Int, to: UInt64)
    case read(Int, offset: UInt64, count: Int)
    case hash(Int)
    /// Open the part of a file that comes.
    ///
    /// - size: of the whole file.
    case receive(Int, part: String, size: UInt64)
    case write(Int, offset: UInt64, [UInt8])
    /// Compare the hash, and give the part its name.
    case complete(Int, hash: [UInt8], FileName)
    /// Close the file.
    ///
    /// - keepsPart: whether the part may be gone on with.
    case close(Int, keepsPart: Bool)
}

/// What came of it.
package enum FileResult: Equatable, Sendable {
    /// Nil if it cannot be read.
    case read(Int, [UInt8]?)
    case hash(Int, [UInt8])
    /// - offset: bytes that were there already.
    case opened(Int, offset: UInt64)
    case written(Int, Int)
    /// - path: nil if the hash is another one.
    case completed(Int, path: String?)
    /// It cannot be opened, written or named.
    case failed(Int, reason: String)
}

/// A file that a command has opened.
package final class GivenFile: Sendable {
    let descriptor: FileDescriptor

    package init(_ descriptor: consuming FileDescriptor) { self.descriptor = descriptor }

    /// Its size in bytes, and when it was changed, in seconds since 1970; nil for what is no plain file.
    package var facts: (size: UInt64, modified: UInt64)? {
        guard let status = try? descriptor.status(), status.st_mode & S_IFMT == S_IFREG else { return nil }
        return (UInt64(status.st_size), UInt64(max(0, status.st_mtim.tv_sec)))
    }
}
