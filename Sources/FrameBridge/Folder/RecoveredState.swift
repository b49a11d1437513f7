import Glibc
import Posix

/// The state that a writer leaves to its successor if it did not say goodbye.
struct RecoveredState {
    /// Whether it was paused, or was asked to be. Where that cannot be known, it counts as paused, so that nobody sees what was
    /// hidden.
    let isPaused: Bool

    init(in directory: BridgeDirectory) {
        guard (try? directory.hasEndedWell()) != true else {
            isPaused = false
            return
        }
        let status = (try? directory.status()) ?? nil
        var isPaused = status?.state == .paused || directory.waitingRequestFile()?.pauses ?? false
        if let control = (try? ControlFile(in: directory, O_RDONLY)) ?? nil {
            let isDamaged = control.read(.source) == nil
            isPaused = isPaused || isDamaged || control.read(.pause)?.text != ""
            isPaused = isPaused || control.waitingRequest?.pauses ?? false
        } else {
            // A writer makes this file before its frames. Where it is gone, the pause that it held may be, too.
            isPaused = isPaused || status?.generation != 0
        }
        self.isPaused = isPaused
    }

    /// The control file: that of the writer before, which takes no room, or else a new one. A pause that was asked for and
    /// not answered waits there for this writer; anything else was asked of the one before.
    func makeControl(in directory: BridgeDirectory, source: String) throws(BridgeError) -> ControlFile {
        let pause = isPaused ? BroadcastState.paused.name : ""
        if let control = (try? ControlFile(in: directory, O_RDWR)) ?? nil {
            do throws(SystemError) {
                try control.allocate()
                try control.write(pause, to: .pause)
                try control.write(source, to: .source)
                if let record = control.waitingRecord, !(isPaused && control.waitingRequest?.pauses ?? false) {
                    let reason = "the capture process that was asked has died: ask again"
                    try control.write(ControlFile.Record(number: record.number, text: reason), to: .answer)
                }
                return control
            } catch {}
        }
        return try ControlFile(makingIn: directory, pause: pause, source: source)
    }
}
