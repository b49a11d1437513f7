package import Media

/// A command for a recorder: one JSON object on one line, such as `{"cut":{}}`. The reply is its status after that.
package enum RecorderRequest: ControlRequest, Equatable {
    package static let limit = 8192

    case status
    /// Ends the file, and begins none.
    case pause
    case resume
    /// The person's switch: nothing is recorded while it is off, whoever resumes or triggers.
    case off
    case on
    /// Goes on in another file. The reply comes when the file before is whole.
    case cut
    /// Records silence from now on.
    case mute
    case unmute
    /// Writes other clips from now on; everything if nil.
    ///
    /// - `version`: of the settings that are to be changed, as the status has it; nil for any.
    case change(clips: ClipSettings?, version: Int?)
    /// Begins a clip, or makes the one that is written longer.
    case trigger
    /// Writes the last seconds into a file; nil for all that is kept. The reply has its name in `lastFile`.
    case replay(seconds: Int?)

    /// Whether viewers may ask for it: for nothing that ends the recorder's work, or that of the person at the machine.
    package var isForViewers: Bool {
        switch self {
        case .status, .trigger, .replay, .change: true
        case .pause, .resume, .off, .on, .cut, .mute, .unmute: false
        }
    }

    package var patience: Duration {
        // It may be a file of a hundred megabytes, on a slow disk.
        if case .replay = self { .seconds(30) } else { .seconds(2) }
    }
}

/// A recorder at one instant. Names and units are those of the JSON of `oriel record status`.
package struct RecorderSnapshot: Codable, Sendable, Equatable {
    package enum State: String, Codable, Sendable {
        /// There is no picture yet, or the broadcast is paused.
        case waiting
        case recording
        /// It waits for motion, or a command.
        case armed
        /// After a clip, it waits for commands alone.
        case blind
        /// A person has paused it.
        case paused
        /// A person has switched the recordings of the broadcast off.
        case off
        /// Nothing can be written.
        case blocked
    }

    package var pid: Int32
    package var state: State
    package var folder: String
    /// The file that is being written; absent without one.
    package var file: String?
    /// Of that file.
    package var bytes: UInt64 = 0
    package var lengthS = 0.0
    /// The file that was completed last; absent before the first.
    package var lastFile: String?
    /// The whole files of this recorder.
    package var files = 0
    /// Whether it records silence.
    package var muted = false
    /// Absent if everything is recorded.
    package var clips: ClipSettings?
    /// What is kept in memory for a replay; absent for nothing.
    package var replayS: Int?
    /// Counts the changes of its settings.
    package var version = 1
    /// Why nothing can be written; absent if it can.
    package var problem: String?

    package init(pid: Int32, state: State, folder: String) {
        (self.pid, self.state, self.folder) = (pid, state, folder)
    }
}
