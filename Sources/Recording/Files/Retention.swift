import Time

/// Decides which recordings go, the oldest first. Sans-IO.
package struct Retention: Equatable, Sendable {
    package struct File: Equatable {
        package let name: String
        package let bytes: UInt64
        /// Since its last frame.
        package let age: Duration
        /// Whether its date is still to come: it was written before the clock was set back, and so before all others.
        package let isAhead: Bool

        package init(name: String, bytes: UInt64, age: Duration, isAhead: Bool = false) {
            (self.name, self.bytes, self.age, self.isAhead) = (name, bytes, age, isAhead)
        }

        fileprivate func isOlder(than other: File) -> Bool {
            if isAhead != other.isAhead { return isAhead }
            return age == other.age ? name < other.name : age > other.age
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
        var (total, free) = (files.reduce(writing) { $0 &+ $1.bytes }, free)
        var removed: [String] = []
        for file in files.sorted(by: { $0.isOlder(than: $1) }) {
            let isOld = age.map { file.age > $0 } ?? false
            guard isOld || bytes.map({ total > $0 }) ?? false || free < reserve else { continue }
            removed.append(file.name)
            (total, free) = (total &- file.bytes, free &+ file.bytes)
        }
        return removed
    }
}
