/// A command for a recorder: one JSON object on one line, such as `{"cut":{}}`. The reply is its status after that.
package enum RecorderRequest: ControlRequest, Equatable {
    package static let limit = 4096

    case status
    /// Ends the file, and begins none.
    case pause
    case resume
    /// Goes on in another file. The reply comes when the file before is whole.
    case cut
}

/// A recorder at one instant. Names and units are those of the JSON of `oriel record status`.
package struct RecorderSnapshot: Codable, Sendable, Equatable {
    package enum State: String, Codable, Sendable {
        /// There is no picture yet, or the broadcast is paused.
        case waiting
        case recording
        /// A person has paused it.
        case paused
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
    /// Why nothing can be written; absent if it can.
    package var problem: String?

    package init(pid: Int32, state: State, folder: String) {
        (self.pid, self.state, self.folder) = (pid, state, folder)
    }
}

package typealias RecorderReply = Reply<RecorderSnapshot>
package typealias RecorderRequests = RequestQueue<RecorderRequest, RecorderSnapshot>
