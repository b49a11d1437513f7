import CPosix
import Glibc

/// Wakes a thread that polls (eventfd). Set by any thread any number of times, cleared by the one that woke.
package struct EventSignal: ~Copyable {
    private let descriptor: FileDescriptor

    package init() throws(SystemError) {
        descriptor = FileDescriptor(taking: try check("eventfd") { posix_event_create() })
    }

    /// For `poll`; owned by the signal.
    package var raw: Int32 { descriptor.raw }

    package func set() {
        var one: UInt64 = 1
        _ = Glibc.write(raw, &one, MemoryLayout<UInt64>.size)
    }

    package func clear() {
        var count: UInt64 = 0
        _ = Glibc.read(raw, &count, MemoryLayout<UInt64>.size)
    }
}

/// One descriptor to wait for.
package struct PollItem {
    package let descriptor: Int32
    package var wantsWrite: Bool
    /// Something can be read, or an error is to be fetched.
    package fileprivate(set) var isReadable = false
    package fileprivate(set) var isWritable = false

    package init(_ descriptor: Int32, wantsWrite: Bool = false) {
        self.descriptor = descriptor
        self.wantsWrite = wantsWrite
    }
}

/// Waits until a descriptor is ready or, unless nil, an instant of the monotonic clock.
package func poll(_ items: inout [PollItem], until deadline: UInt64?) throws(SystemError) {
    var descriptors = items.map { item in
        pollfd(fd: item.descriptor, events: Int16(item.wantsWrite ? POLLIN | POLLOUT : POLLIN), revents: 0)
    }
    try check("ppoll") {
        guard let deadline else { return posix_poll(&descriptors, descriptors.count, nil) }
        let now = MonotonicClock.now()
        var timeout = timespec(nanoseconds: deadline > now ? deadline - now : 0)
        return posix_poll(&descriptors, descriptors.count, &timeout)
    }
    for index in items.indices {
        let events = Int32(descriptors[index].revents)
        items[index].isReadable = events & (POLLIN | POLLERR | POLLHUP) != 0
        items[index].isWritable = events & POLLOUT != 0
    }
}
