import Time

/// Decides which recordings go, the oldest first. Sans-IO.
package struct Retention: Equatable, Sendable {
    package struct File: Equatable {
        package let name: String
        package let bytes: UInt64
        /// Since its last frame.
        package let age: Duration

        package init(name: String, bytes: UInt64, age: Duration) {
            (self.name, self.bytes, self.age) = (name, bytes, age)
        }
    }

    /// Older recordings go; nil keeps them.
    package var age: Duration?
    /// Bytes of all recordings, with the one that is being written; nil for no limit.
    package var bytes: UInt64?
    /// Bytes of the file system that stay free for others.
    package var reserve: UInt64 = 0

    package init() {}

    /// - Parameters:
    ///   - files: the whole recordings.
    ///   - writing: bytes of the one that is being written, which never goes.
    ///   - free: bytes of the file system.
    /// - Returns: the files to remove, in this order.
    package func removals(of files: [File], writing: UInt64, free: UInt64) -> [String] {
        var rest = files.sorted { ($0.age, $1.name) > ($1.age, $0.name) }[...]
        var (total, free) = (rest.reduce(writing) { $0 &+ $1.bytes }, free)
        var removed: [String] = []
        while let oldest = rest.first {
            let isOld = age.map { oldest.age > $0 } ?? false
            guard isOld || bytes.map({ total > $0 }) ?? false || free < reserve else { break }
            removed.append(oldest.name)
            (total, free) = (total &- oldest.bytes, free &+ oldest.bytes)
            rest = rest.dropFirst()
        }
        return removed
    }
}
