import Synchronization

/// The present value of files.
package final class RenewedValue<Value: Sendable>: Sendable {
    private let files: NamedFiles
    private let renew: @Sendable (inout Value, [[UInt8]?]) -> Void
    /// The value at the last successful read.
    private let last: Mutex<Value>

    /// - Parameters:
    ///   - first: the value in the files now.
    ///   - renew: changes the value to that of the files, in their order; nil for one that cannot be read.
    package init(_ first: Value, from files: NamedFiles, renew: @escaping @Sendable (inout Value, [[UInt8]?]) -> Void) {
        (self.files, self.renew) = (files, renew)
        last = Mutex(first)
    }

    /// The value in the files now, or at the last successful read. Waits up to a second.
    package func current() -> Value {
        last.withLock { last in
            if let read = files.read() { renew(&last, read) }
            return last
        }
    }
}
