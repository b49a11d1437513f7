import CPosix
import Glibc

/// A file that grows, and that must be whole after a power loss.
extension FileDescriptor {
    /// Writes two parts, one after the other, as one.
    package func write(_ first: [UInt8], _ second: [UInt8], at offset: UInt64) throws(SystemError) {
        let total = first.count + second.count
        var done = 0
        while done < total {
            done += try check("pwritev") {
                first.withUnsafeBytes { first in
                    second.withUnsafeBytes { second in
                        write(
                            first.dropFirst(done),
                            second.dropFirst(max(0, done - first.count)),
                            offset + UInt64(done)
                        )
                    }
                }
            }
        }
    }

    private func write(
        _ first: Slice<UnsafeRawBufferPointer>,
        _ second: Slice<UnsafeRawBufferPointer>,
        _ offset: UInt64
    ) -> Int {
        let parts: InlineArray<2, iovec> = [iovec(first), iovec(second)]
        return parts.span.withUnsafeBufferPointer { pwritev(raw, $0.baseAddress, 2, off_t(offset)) }
    }

    package func truncate(to length: UInt64) throws(SystemError) {
        let raw = raw
        try check("ftruncate") { ftruncate(raw, off_t(length)) }
    }

    /// Waits until the content is on the disk. For a directory, the names in it.
    package func synchronize() throws(SystemError) {
        let raw = raw
        try check("fsync") { fdatasync(raw) }
    }

    /// Reserves room for a part of the file, so that a full disk is an error now. Its length stays. A file system may be unable to.
    package func reserve(_ length: Int, at offset: UInt64) throws(SystemError) {
        let raw = raw
        do throws(SystemError) {
            try check("fallocate") { posix_reserve(raw, off_t(offset), off_t(length)) }
        } catch {
            guard error.code == EOPNOTSUPP || error.code == ENOSYS else { throw error }
        }
    }

    /// Renames an entry of this directory. One that has the new name already goes.
    package func rename(_ name: String, replacing old: String) throws(SystemError) {
        let raw = raw
        try check("rename") { renameat(raw, name, raw, old) }
    }

    /// Renames an entry of this directory.
    ///
    /// - Throws: `EEXIST` if the new name is taken.
    package func rename(_ name: String, to new: String) throws(SystemError) {
        let raw = raw
        try check("rename") { posix_rename_new(raw, name, new) }
    }

    package func remove(_ name: String) throws(SystemError) {
        let raw = raw
        try check("unlink") { unlinkat(raw, name, 0) }
    }

    /// Bytes that this user may still write to the file system.
    package func freeSpace() throws(SystemError) -> UInt64 {
        let raw = raw
        var info = statvfs()
        try check("fstatvfs") { fstatvfs(raw, &info) }
        return UInt64(info.f_bavail) * UInt64(info.f_frsize)
    }
}

/// Reads from a descriptor with another owner; fewer bytes at the end of the file.
package func readBytes(of descriptor: Int32, _ count: Int, at offset: UInt64) throws(SystemError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    var done = 0
    while done < count {
        let read = try check("pread") {
            bytes.withUnsafeMutableBytes {
                pread(descriptor, $0.baseAddress! + done, count - done, off_t(offset) + off_t(done))
            }
        }
        if read == 0 { break }
        done += read
    }
    bytes.removeLast(count - done)
    return bytes
}

extension iovec {
    fileprivate init(_ bytes: Slice<UnsafeRawBufferPointer>) {
        let bytes = UnsafeRawBufferPointer(rebasing: bytes)
        self.init(iov_base: UnsafeMutableRawPointer(mutating: bytes.baseAddress), iov_len: bytes.count)
    }
}
