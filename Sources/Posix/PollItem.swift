import CPosix
import Glibc

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

/// Waits until one of the descriptors can be read, or until an instant of the monotonic clock.
///
/// - Returns: whether one can be read, or is broken.
@discardableResult
package func waitReadable(_ descriptors: [Int32], until deadline: UInt64) -> Bool {
    var items = descriptors.map { PollItem($0) }
    // What is wrong with a descriptor shows when it is read.
    try? poll(&items, until: deadline)
    return items.contains { $0.isReadable }
}

/// Whether a descriptor takes a few bytes, such as a line, without delay. A broken one does.
package func isWritable(_ descriptor: Int32) -> Bool {
    var item = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    return Glibc.poll(&item, 1, 0) != 0
}
