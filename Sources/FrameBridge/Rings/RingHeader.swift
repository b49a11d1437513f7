import Glibc
import Posix
import Time

/// The words in the header page of every ring, whatever the ring holds: heartbeat, state, horizon and wake word, at the
/// offsets of `Layout.Header`.
///
/// Other programs may write and shrink the file. If its first page is gone, nothing is stored any more.
struct RingHeader {
    private let mapping: Mapping

    /// - Parameter mapping: the header page at least, writable.
    init(_ mapping: Mapping) { self.mapping = mapping }

    /// Opens the header page of a file that an earlier writer left, and that its readers may still use. Nil if it is
    /// not a file, such as the socket of sealed memory, or cannot be written.
    init?(leftAt name: String, in directory: BridgeDirectory) {
        guard let file = try? directory.open(name, O_RDWR),
            let mapping = try? Mapping(file, size: Layout.page, writable: true)
        else { return nil }
        self.init(mapping)
    }

    func heartbeat() {
        _ = mapping.guarded { storeHeartbeat() }
    }

    private func storeHeartbeat() {
        mapping.storeReleasing64(MonotonicClock.now().nanoseconds, Layout.Header.heartbeat)
    }

    /// Stores the state of the broadcast, and wakes the readers.
    ///
    /// - Parameter since: when the state began.
    func setState(_ state: BroadcastState, since: Instant = MonotonicClock.now()) {
        _ = mapping.guarded {
            mapping.store64(since.nanoseconds, Layout.Header.stateSince)
            mapping.storeReleasing32(state.rawValue, Layout.Header.state)
            mapping.advanceAndWake(Layout.Header.wake)
        }
    }

    /// Captures before this instant must not be shown any more.
    func setHorizon(_ instant: Instant) {
        _ = mapping.guarded {
            // Readers take a horizon after the heartbeat for damage.
            storeHeartbeat()
            mapping.storeReleasing64(instant.nanoseconds, Layout.Header.horizon)
        }
    }

    /// The horizon that the writer of the file set. Nil if it set none, if the header is invalid, or if the instant is
    /// of another clock, as before a restart of the machine.
    var horizon: Instant? { mapping.horizon.flatMap { $0 <= MonotonicClock.now() ? $0 : nil } }
}

extension Mapping {
    /// The horizon in the header of a ring; nil if there is none. A horizon after the heartbeat is damage, and does not
    /// count.
    var horizon: Instant? {
        let words = guarded { (loadAcquiring64(Layout.Header.horizon), loadAcquiring64(Layout.Header.heartbeat)) }
        guard let (found, heartbeat) = words, found <= heartbeat else { return nil }
        return Instant(stored: found)
    }
}
