import Glibc
import Posix

/// The state that a writer without a goodbye leaves to its successor.
struct RecoveredState {
    /// Whether it was paused, or a pause was asked for. If that cannot be read, it counts as paused, so that hidden
    /// pictures stay hidden.
    let isPaused: Bool
    /// Whether the writer before said goodbye. What was asked of it was not meant for its successor.
    private let hasEndedWell: Bool

    init(in directory: BridgeDirectory) {
        hasEndedWell = (try? directory.hasEndedWell()) == true
        guard !hasEndedWell else {
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
            // A writer makes this file before its frames. If it is missing, a pause in it may be lost too.
            isPaused = isPaused || status?.generation != 0
        }
        self.isPaused = isPaused
    }

    /// The control file: the one of the writer before, which takes no room, or else a new one. An unanswered request to
    /// pause waits there for this writer, also one that has come since `init`. Other requests were meant for the writer before.
    func makeControl(in directory: BridgeDirectory, source: String) throws(BridgeError) -> ControlFile {
        let pause = isPaused ? BroadcastState.paused.name : ""
        if let control = (try? ControlFile(in: directory, O_RDWR)) ?? nil {
            do throws(SystemError) {
                try control.allocate()
                try control.write(pause, to: .pause)
                try control.write(source, to: .source)
                if let record = control.waitingRecord, hasEndedWell || !(control.waitingRequest?.pauses ?? false) {
                    let reason = "the capture process that was asked has died: ask again"
                    try control.write(ControlFile.Record(number: record.number, text: reason), to: .answer)
                }
                return control
            } catch {}
        }
        return try ControlFile(makingIn: directory, pause: pause, source: source)
    }
}
