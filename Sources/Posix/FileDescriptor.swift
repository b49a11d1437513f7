import CPosix
package import Glibc

/// An owned descriptor, closed when it goes out of scope.
///
/// Invariant: `raw` is open, and only this value closes it.
package struct FileDescriptor: ~Copyable {
    package let raw: Int32

    package init(taking raw: Int32) { self.raw = raw }

    deinit { close(raw) }

    /// Gives the descriptor away. The caller closes it.
    package consuming func release() -> Int32 {
        let raw = self.raw
        discard self
        return raw
    }

    /// `open(2)`; a new file gets mode 0600. `O_CLOEXEC` and `O_NOFOLLOW` are added.
    package static func open(_ path: String, _ flags: Int32) throws(SystemError) -> FileDescriptor {
        FileDescriptor(taking: try check("open") { Glibc.open(path, flags | O_CLOEXEC | O_NOFOLLOW, 0o600) })
    }

    /// `openat(2)` relative to this directory; a new file gets mode 0600. `O_CLOEXEC` and `O_NOFOLLOW` are added.
    package func open(_ name: String, _ flags: Int32) throws(SystemError) -> FileDescriptor {
        FileDescriptor(taking: try check("openat") { openat(raw, name, flags | O_CLOEXEC | O_NOFOLLOW, 0o600) })
    }

    /// Sets the mode 0600, which the file has already. That notifies watchers of its attributes (inotify).
    package func touch() { fchmod(raw, 0o600) }

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

    /// Reads at most `limit` bytes, fewer at the end of the file.
    package func readBytes(_ limit: Int, at offset: Int = 0) throws(SystemError) -> [UInt8] {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: limit, alignment: 8)
        defer { buffer.deallocate() }
        return Array(buffer[..<(try read(into: buffer, at: offset))])
    }

    /// Allocates the blocks of the first bytes of a file. So a full file system is an error now and not at the time of
    /// writing.
    package func allocate(_ bytes: Int) throws(SystemError) {
        var code = EINTR
        while code == EINTR { code = posix_fallocate(raw, 0, off_t(bytes)) }
        guard code == 0 else { throw SystemError("posix_fallocate", code: code) }
    }

    package func write(_ bytes: [UInt8], at offset: Int) throws(SystemError) {
        var done = 0
        while done < bytes.count {
            done += try check("pwrite") {
                bytes.withUnsafeBytes { pwrite(raw, $0.baseAddress! + done, $0.count - done, off_t(offset + done)) }
            }
        }
    }

    /// The names in this directory, with those of itself and its parent; empty if it cannot be read.
    package func entries() -> [String] {
        let copy = openat(raw, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard copy >= 0 else { return [] }
        guard let stream = fdopendir(copy) else {
            close(copy)
            return []
        }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { Array($0.prefix { $0 != 0 }) }
            names.append(String(decoding: name, as: UTF8.self))
        }
        return names
    }

    package func write(_ text: String) throws(SystemError) { try Posix.write(text, to: raw) }
}

/// Open file description locks over a whole file (fcntl F_OFD_SETLK). The kernel frees one when the last descriptor of
/// its open file closes. So a held lock proves a live owner.
extension FileDescriptor {
    package enum Lock { case shared, exclusive }

    /// Takes the lock unless there is a conflicting one. Returns whether it was taken.
    package func tryLock(_ kind: Lock) throws(SystemError) -> Bool {
        switch posix_lock(raw, kind == .exclusive) {
        case 0: true
        case EAGAIN, EACCES: false
        case let code: throw SystemError("fcntl", code: code)
        }
    }

    /// Whether another open file holds a lock that conflicts with `kind`.
    package func isLockedByAnother(against kind: Lock) throws(SystemError) -> Bool {
        var locked = false
        let code = posix_lock_query(raw, kind == .exclusive, &locked)
        if code != 0 { throw SystemError("fcntl", code: code) }
        return locked
    }
}

/// Writes all of a text to a descriptor with another owner.
package func write(_ text: String, to descriptor: Int32) throws(SystemError) {
    var bytes = Array(text.utf8)[...]
    while !bytes.isEmpty {
        let count = try check("write") {
            bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
        }
        bytes = bytes.dropFirst(count)
    }
}
