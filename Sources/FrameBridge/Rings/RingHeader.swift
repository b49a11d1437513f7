import Glibc
import Posix

/// The words that stand in the header page of every ring, whatever the ring holds: heartbeat, state, horizon and wake word,
/// where `Layout.Header` has them.
///
/// Other programs may write and shrink the file. Where its first page is gone, nothing is stored any more.
struct RingHeader {
    private let mapping: Mapping

    /// - Parameter mapping: the header page at least, writable.
    init(_ mapping: Mapping) { self.mapping = mapping }

    /// Opens the header page of a file that a killed writer left, and tells its readers that nothing more comes in it. What
    /// stands in the file is shown until the successor has a generation. Nil for what is no file, as the socket of sealed
    /// memory, and for what cannot be written.
    init?(retiring name: String, in directory: BridgeDirectory) {
        guard let file = try? directory.open(name, O_RDWR),
            let mapping = try? Mapping(file, size: Layout.page, writable: true)
        else { return nil }
        self.init(mapping)
        setState(.retired)
    }

    /// Says that the writer lives.
    func heartbeat() {
        _ = mapping.guarded { storeHeartbeat() }
    }

    private func storeHeartbeat() {
        mapping.storeReleasing64(MonotonicClock.now(), Layout.Header.heartbeat)
    }

    /// Says what state the broadcast is in, and wakes the readers.
    func setState(_ state: BroadcastState) {
        _ = mapping.guarded {
            mapping.store64(MonotonicClock.now(), Layout.Header.stateSince)
            mapping.storeReleasing32(state.rawValue, Layout.Header.state)
            mapping.advanceAndWake(Layout.Header.wake)
        }
    }

    /// What was captured before this instant is not to be shown any more.
    func setHorizon(_ instant: UInt64) {
        _ = mapping.guarded {
            // Readers take a horizon after the heartbeat for damage.
            storeHeartbeat()
            mapping.storeReleasing64(instant, Layout.Header.horizon)
        }
    }

    /// The horizon that the writer of the file set; 0 where the header makes no sense, or counts another clock's time, as
    /// before a restart of the machine.
    var horizon: UInt64 {
        let (found, heartbeat) =
            mapping.guarded {
                (mapping.loadAcquiring64(Layout.Header.horizon), mapping.loadAcquiring64(Layout.Header.heartbeat))
            } ?? (0, 0)
        return found <= min(heartbeat, MonotonicClock.now()) ? found : 0
    }
}
