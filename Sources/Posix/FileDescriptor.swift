package import Glibc

/// An owned descriptor, closed when it goes out of scope.
///
/// Invariant: `raw` is open and nobody else closes it.
package struct FileDescriptor: ~Copyable {
    package let raw: Int32

    package init(taking raw: Int32) { self.raw = raw }

    deinit { close(raw) }

    /// Gives the descriptor away; the caller closes it.
    package consuming func release() -> Int32 {
        let raw = self.raw
        discard self
        return raw
    }

    /// `openat(2)` relative to `directory` (the working directory when nil). `O_CLOEXEC` and `O_NOFOLLOW` are added.
    package static func open(
        _ path: String, in directory: borrowing FileDescriptor? = nil, _ flags: Int32, mode: mode_t = 0o600
    ) throws(SystemError) -> FileDescriptor {
        let base: Int32
        switch directory {
        case .some(let descriptor): base = descriptor.raw
        case .none: base = AT_FDCWD
        }
        return FileDescriptor(
            taking: try check("open") { openat(base, path, flags | O_CLOEXEC | O_NOFOLLOW, mode) })
    }

    package func status() throws(SystemError) -> stat {
        var info = stat()
        try check("fstat") { fstat(raw, &info) }
        return info
    }

    /// Reads at `offset` until `buffer` is full or the file ends. Returns the number of bytes read.
    package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(SystemError) -> Int {
        var done = 0
        while done < buffer.count {
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
            let count = try check("pread") { pread(raw, rest.baseAddress, rest.count, off_t(offset + done)) }
            if count == 0 { break }
            done += count
        }
        return done
    }

    /// Writes all bytes at the current position.
    package func write(_ bytes: [UInt8]) throws(SystemError) {
        var done = 0
        while done < bytes.count {
            let count = try check("write") {
                bytes.withUnsafeBytes { Glibc.write(raw, $0.baseAddress! + done, $0.count - done) }
            }
            done += count
        }
    }
}
