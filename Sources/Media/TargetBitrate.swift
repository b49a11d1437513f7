import Synchronization

/// The bitrate that the user has set, in bits a second. It is the sender's own: encoders follow it and packets are paced by it, and
/// what links carry only bounds it. Any thread may read it.
package final class TargetBitrate: Sendable {
    private let value: Atomic<Int>

    package init(_ bitsPerSecond: Int) { value = Atomic(bitsPerSecond) }

    package var bitsPerSecond: Int { value.load(ordering: .relaxed) }

    package func set(_ bitsPerSecond: Int) { value.store(bitsPerSecond, ordering: .relaxed) }
}
