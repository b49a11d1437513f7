import Synchronization

/// A value that files have, as they have it now.
package final class RenewedValue<Value: Sendable>: Sendable {
    private let files: NamedFiles
    private let renew: @Sendable (inout Value, [[UInt8]?]) -> Void
    /// As it was read last.
    private let last: Mutex<Value>

    /// - Parameters:
    ///   - first: the value in the files now.
    ///   - renew: changes the value as the files have it, in their order; nil for one that cannot be read.
    package init(_ first: Value, from files: NamedFiles, renew: @escaping @Sendable (inout Value, [[UInt8]?]) -> Void) {
        (self.files, self.renew) = (files, renew)
        last = Mutex(first)
    }

    /// The value in the files now, or when they could be read last. Waits a second at the most.
    package func current() -> Value {
        last.withLock { last in
            if let read = files.read() { renew(&last, read) }
            return last
        }
    }
}
