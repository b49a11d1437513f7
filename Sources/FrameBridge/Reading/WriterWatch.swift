import Glibc
package import Posix

/// Rings a bell as soon as a capture process starts, ends, or changes its state (inotify). It is a hint: if nothing can
/// be watched, a look a few times a second finds out too.
///
/// It watches `writer.lock`. The file is closed when its holder ends, however that happens, and touched when `status`
/// has changed.
package final class WriterWatch {
    private let notices: FileDescriptor
    private let end: EventSignal
    private var thread: Thread?

    /// Starts to watch the capture process, for as long as the result lives.
    ///
    /// - Parameters:
    ///   - signals: a descriptor that also rings the bell, once, when it is readable.
    ///   - bell: rung from a thread of its own.
    package init(
        of reader: borrowing FrameReader,
        orWhenReadable signals: Int32,
        ringing bell: Bell
    ) throws(SystemError) {
        let notices = FileDescriptor(
            taking: try check("inotify_init1") { inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC)) }
        )
        let (raw, path) = (notices.raw, "/proc/self/fd/\(reader.writerLock.raw)")
        try check("inotify_add_watch") { inotify_add_watch(raw, path, UInt32(IN_CLOSE_WRITE | IN_ATTRIB)) }
        let end = try EventSignal()
        thread = try Thread { [end = end.raw] in Self.watch(raw, signals, until: end, ringing: bell) }
        self.notices = notices
        self.end = end
    }

    /// The descriptors stay open until the thread has ended.
    deinit {
        end.set()
        thread.take()?.join()
    }

    private static func watch(_ notices: Int32, _ signals: Int32, until end: Int32, ringing bell: Bell) {
        var items = [PollItem(end), PollItem(notices), PollItem(signals)]
        while (try? poll(&items, until: nil)) != nil, !items[0].isReadable {
            if items.count > 2, items[2].isReadable { items.removeLast() }
            DirectoryWatch.takeNotices(of: notices)
            bell.ring()
            guard items[1].isReadable else { continue }
            // The kernel reports that a file is closed an instant before it frees its lock.
            MonotonicClock.sleep(for: DirectoryWatch.unlockTime)
            bell.ring()
        }
    }
}
