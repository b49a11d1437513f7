import Synchronization

/// The user's bitrate, in bits a second. It belongs to the sender: encoders follow it, packets are paced by it, and
/// links can only lower it. Any thread may read it.
package final class TargetBitrate: Sendable {
    private let value: Atomic<Int>

    package init(_ bitsPerSecond: Int) { value = Atomic(bitsPerSecond) }

    package var bitsPerSecond: Int { value.load(ordering: .relaxed) }

    package func set(_ bitsPerSecond: Int) { value.store(bitsPerSecond, ordering: .relaxed) }
}
