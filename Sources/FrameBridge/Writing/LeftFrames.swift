import Glibc
import Posix

/// The frames file that a killed writer left. What stands in it is shown until its successor has frames.
final class LeftFrames {
    /// The header page; other programs may write and shrink the file.
    private let header: Mapping

    /// Tells its readers that no more frames come in it. Nil for what is no file, as the socket of sealed memory, and for
    /// what cannot be written.
    init?(retiring name: String, in directory: BridgeDirectory) {
        guard let file = try? directory.open(name, O_RDWR),
            let header = try? Mapping(file, size: Layout.page, writable: true)
        else { return nil }
        self.header = header
        _ = header.guarded { FramesFile.setState(.retired, in: header) }
    }

    /// What was captured before this instant is not to be shown any more; 0 where the header makes no sense, or counts
    /// another clock's time, as before a restart of the machine.
    var horizon: UInt64 {
        let (found, heartbeat) =
            header.guarded {
                (header.loadAcquiring64(Layout.Header.horizon), header.loadAcquiring64(Layout.Header.heartbeat))
            } ?? (0, 0)
        return found <= min(heartbeat, MonotonicClock.now()) ? found : 0
    }

    func setHorizon(_ instant: UInt64) {
        _ = header.guarded { FramesFile.setHorizon(instant, in: header) }
    }
}
