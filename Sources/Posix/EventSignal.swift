import CPosix
import Glibc

/// Wakes a thread that polls (eventfd). Any thread sets it, any number of times. The woken thread clears it.
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
