import Glibc
import Posix

/// Tells a capture process at once when something is asked of it or a reader comes (inotify). A hint: where it does not
/// work, whoever looks a few times a second finds out too.
public struct DirectoryWatch: ~Copyable {
    private let file: FileDescriptor

    fileprivate init(_ directory: BridgeDirectory) throws(SystemError) {
        let flags = Int32(IN_NONBLOCK | IN_CLOEXEC)
        file = FileDescriptor(taking: try check("inotify_init1") { inotify_init1(flags) })
        let path = "/proc/self/fd/\(directory.descriptor.raw)"
        inotify_add_watch(file.raw, path, UInt32(IN_MOVED_TO | IN_CLOSE_WRITE | IN_ONLYDIR))
        inotify_add_watch(file.raw, "\(path)/\(FrameReader.lockFile)", UInt32(IN_ATTRIB))
    }

    /// Readable when `take()` would return true.
    public var descriptor: Int32 { file.raw }

    /// Whether anything happened since the last call.
    public borrowing func take() -> Bool {
        withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 8) { buffer in
            var found = false
            while Glibc.read(file.raw, buffer.baseAddress, buffer.count) > 0 { found = true }
            return found
        }
    }
}

extension BridgeDirectory {
    /// Starts to watch for requests and readers.
    public func watch() throws(BridgeError) -> DirectoryWatch {
        do { return try DirectoryWatch(self) } catch { throw .system(path: path, error) }
    }
}
