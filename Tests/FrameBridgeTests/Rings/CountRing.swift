import Posix

@testable import FrameBridge

/// A ring that only tests know: a file of one page with a number that goes up.
final class CountRing {
    static let name = "count"
    /// Where the number stands, in bytes: a place that has no name in a ring's header.
    static let offset = 2048

    let file: RingFile
    private var count: UInt64 = 0

    init(in generation: inout NewGeneration) throws(BridgeError) {
        file = try RingFile(Self.name, in: &generation, bytes: Layout.page, storage: .file) { mapping in
            mapping.store64(0, Self.offset)
        }
    }

    /// Counts one more.
    ///
    /// - Parameter steps: dies after so many.
    func increment(steps: Int = .max) {
        count += 1
        var counting = Counting(to: count)
        _ = file.mapping.guarded {
            for _ in 0..<steps {
                switch counting.next() {
                case .release(let value): file.mapping.storeReleasing64(value, Self.offset)
                case .wake: file.advanceAndWakeReaders()
                case nil: return
                }
            }
        }
    }
}

/// The order of stores by which a count goes up. A single word has no halves that could be torn.
struct Counting {
    enum Step {
        /// A releasing store of the number.
        case release(UInt64)
        /// A releasing addition of one to the wake word, then wake whoever sleeps on it.
        case wake
    }

    static let stepCount = 2

    private let count: UInt64
    private var position = 0

    init(to count: UInt64) { self.count = count }

    /// What is to be done next; nil when the count is out.
    mutating func next() -> Step? {
        position += 1
        return switch position {
        case 1: .release(count)
        case 2: .wake
        default: nil
        }
    }
}

/// What a reader in another process sees of a ring's file.
struct RingView {
    private let mapping: Mapping

    /// Nil where the ring has no such file.
    init?(_ ring: String, _ generation: UInt64, in directory: BridgeDirectory) throws {
        guard let file = try directory.openRing(RingFile.name(of: ring, generation)) else { return nil }
        mapping = try Mapping(file, size: Layout.page, writable: false)
    }

    var count: UInt64 { mapping.loadAcquiring64(CountRing.offset) }
    var wakeWord: UInt32 { mapping.loadAcquiring32(Layout.Header.wake) }
    var heartbeat: UInt64 { mapping.loadAcquiring64(Layout.Header.heartbeat) }
    var horizon: UInt64 { mapping.loadAcquiring64(Layout.Header.horizon) }
    var state: BroadcastState? { BroadcastState(rawValue: mapping.loadAcquiring32(Layout.Header.state)) }
}
