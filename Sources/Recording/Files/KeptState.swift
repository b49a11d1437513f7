import Glibc
import JSON
import Media
import Posix

/// The part of a recorder's state that outlives it, in a hidden file of its folder: what a person has switched off stays off.
struct KeptState: Codable, Equatable {
    var isPaused = false
    var isMuted = false
    /// Nil for those of its start.
    var change: Change?

    struct Change: Codable, Equatable {
        var clips: ClipSettings?
        var version: Int
    }

    /// Of what cannot be read.
    fileprivate static let unknown = KeptState(isPaused: true, isMuted: true)
}

/// Whether a recorder has such a file.
package enum KeptStates {
    case none
    /// It begins anew.
    case begin
    /// It continues the work of one that died.
    case goOn
}

extension RecordingFolder {
    private static let longestState = 8192

    private func stateFile(of broadcast: String) -> String { ".\(broadcast).recorder" }

    func keep(_ state: KeptState, of broadcast: String) throws(SystemError) {
        let name = stateFile(of: broadcast)
        if state == KeptState() {
            do throws(SystemError) { try directory.remove(name) } catch { if error.code != ENOENT { throw error } }
            return
        }
        // Words and integers can always be encoded.
        let line = try! state.jsonLine()
        // What was kept before stays until this is whole.
        let file = try directory.open(name + FileName.part, O_WRONLY | O_CREAT | O_TRUNC)
        try file.write(Array(line.utf8), [], at: 0)
        try file.synchronize()
        try directory.rename(name + FileName.part, replacing: name)
        try directory.synchronize()
    }

    func kept(of broadcast: String) -> KeptState {
        do throws(SystemError) {
            let bytes = try directory.open(stateFile(of: broadcast), O_RDONLY | O_NONBLOCK).readBytes(Self.longestState)
            return (try? KeptState(jsonLine: String(decoding: bytes, as: UTF8.self))) ?? .unknown
        } catch {
            return error.code == ENOENT ? KeptState() : .unknown
        }
    }
}
