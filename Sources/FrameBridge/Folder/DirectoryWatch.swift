import Glibc
import Posix

/// Notifies a capture process at once of requests and new readers (inotify). It is a hint: without inotify, or if the
/// user has no watches left, a look a few times a second finds them too.
public struct DirectoryWatch: ~Copyable {
    private let file: FileDescriptor?
    /// Readable when `take()` would return true; -1 if nothing can be watched.
    public let descriptor: Int32

    fileprivate init(_ directory: BridgeDirectory) {
        descriptor = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
        file = descriptor < 0 ? nil : FileDescriptor(taking: descriptor)
        let path = "/proc/self/fd/\(directory.descriptor.raw)"
        inotify_add_watch(descriptor, path, UInt32(IN_MOVED_TO | IN_CLOSE_WRITE | IN_ONLYDIR))
        // A reader opens its lock for reading only.
        inotify_add_watch(descriptor, "\(path)/\(FrameReader.lockFile)", UInt32(IN_ATTRIB | IN_CLOSE))
    }

    /// Whether there were events since the last call. The kernel reports a reader's end an instant before it frees the
    /// reader's lock: look again after `unlockTime`.
    public borrowing func take() -> Bool { Self.takeNotices(of: descriptor) }

    /// Reads all events of inotify. Returns whether there were any.
    @discardableResult
    static func takeNotices(of descriptor: Int32) -> Bool {
        withUnsafeTemporaryAllocation(byteCount: 1024, alignment: 8) { buffer in
            var found = false
            while Glibc.read(descriptor, buffer.baseAddress, buffer.count) > 0 { found = true }
            return found
        }
    }

    /// The longest time from the event of a reader's end until its lock is free.
    public static let unlockTime = Duration.milliseconds(10)
}

extension BridgeDirectory {
    /// Starts to watch for requests and readers.
    public func watch() -> DirectoryWatch { DirectoryWatch(self) }
}
