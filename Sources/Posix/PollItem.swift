import CPosix
import Glibc
package import Time

package struct PollItem {
    package let descriptor: Int32
    package var wantsWrite: Bool
    /// There is data to read, or an error to fetch.
    package fileprivate(set) var isReadable = false
    package fileprivate(set) var isWritable = false

    package init(_ descriptor: Int32, wantsWrite: Bool = false) {
        self.descriptor = descriptor
        self.wantsWrite = wantsWrite
    }
}

/// Waits until a descriptor is ready or, unless nil, an instant of the monotonic clock.
package func poll(_ items: inout [PollItem], until deadline: Instant?) throws(SystemError) {
    try withUnsafeTemporaryAllocation(of: pollfd.self, capacity: items.count) { descriptors throws(SystemError) in
        for (index, item) in items.enumerated() {
            let events = Int16(item.wantsWrite ? POLLIN | POLLOUT : POLLIN)
            descriptors[index] = pollfd(fd: item.descriptor, events: events, revents: 0)
        }
        try wait(for: descriptors, until: deadline)
        for index in items.indices {
            items[index].isReadable = descriptors[index].isReadable
            items[index].isWritable = Int32(descriptors[index].revents) & POLLOUT != 0
        }
    }
}

private func wait(for descriptors: UnsafeMutableBufferPointer<pollfd>, until deadline: Instant?) throws(SystemError) {
    try check("ppoll") {
        guard let deadline else { return posix_poll(descriptors.baseAddress, descriptors.count, nil) }
        var timeout = timespec(deadline - MonotonicClock.now())
        return posix_poll(descriptors.baseAddress, descriptors.count, &timeout)
    }
}

extension pollfd {
    fileprivate var isReadable: Bool { Int32(revents) & (POLLIN | POLLERR | POLLHUP) != 0 }
}

/// Waits until one of the descriptors is readable or, unless nil, until an instant of the monotonic clock. Negative
/// descriptors are ignored.
///
/// - Returns: whether one is readable, or broken.
@discardableResult
package func waitReadable(_ descriptors: borrowing Span<Int32>, until deadline: Instant?) -> Bool {
    withUnsafeTemporaryAllocation(of: pollfd.self, capacity: descriptors.count) { items in
        for index in descriptors.indices {
            items[index] = pollfd(fd: descriptors[index], events: Int16(POLLIN), revents: 0)
        }
        // The fault of a descriptor shows when it is read.
        try? wait(for: items, until: deadline)
        return items.contains { $0.isReadable }
    }
}

/// The same for up to three descriptors.
@discardableResult
package func waitReadable(_ first: Int32, _ second: Int32 = -1, _ third: Int32 = -1, until deadline: Instant?) -> Bool {
    let descriptors: InlineArray<3, Int32> = [first, second, third]
    return waitReadable(descriptors.span, until: deadline)
}

/// Waits until a descriptor is writable, whatever there is to read, or until an instant of the monotonic clock.
func waitWritable(_ descriptor: Int32, until deadline: Instant) throws(SystemError) {
    var item = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    try withUnsafeMutablePointer(to: &item) { item throws(SystemError) in
        try wait(for: UnsafeMutableBufferPointer(start: item, count: 1), until: deadline)
    }
}

/// Whether a descriptor accepts a few bytes, such as a line, without delay. A broken one does.
package func isWritable(_ descriptor: Int32) -> Bool {
    var item = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    return Glibc.poll(&item, 1, 0) != 0
}
