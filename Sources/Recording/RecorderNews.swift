package import Motion
package import Posix

extension Recorder {
    /// What a person is told, as a sentence.
    package enum News: Equatable, CustomStringConvertible {
        case began(String)
        case completed(String)
        /// It was not to be kept longer.
        case removed(String)
        /// Nothing can be written into the folder, for this reason; it is tried again.
        case blocked(SystemError, folder: String)
        case dropped(Int)
        case unreadable
        case changedByViewer
        /// Of the file that is written.
        case progress(String, length: Duration, bytes: UInt64)
        /// The number of the clip, and its first file; nil if there is no picture yet.
        case clipBegan(Int, ClipTrigger.Cause, file: String?)
        case clipEnded(Int, ClipTrigger.End, files: [String])

        package var description: String {
            switch self {
            case .began(let name): "recording into \(name)"
            case .completed(let name): "\(name) is whole"
            case .removed(let name): "\(name) is removed, as the limits of --keep and --reserve say"
            case .blocked(let error, let folder):
                "nothing can be recorded in \(folder) (\(error.reason)): it goes on as soon as it can"
            case .changedByViewer: "a viewer has changed what is recorded: \"oriel record status --json\" shows it"
            case .dropped(let count): "\(count) pictures are missing, as the disk or this machine is too slow"
            case .unreadable: "the sender's pictures cannot be read: update Oriel"
            case .progress(let name, let length, let bytes):
                "\(name), \(Int(length / .seconds(1))) s, \(bytes / 1024) KiB"
            case .clipBegan(let number, .motion, _): "clip \(number) begins: something moves"
            case .clipBegan(let number, .command, _): "clip \(number) begins by command"
            case .clipEnded(let number, let reason, _): "clip \(number) ends (\(reason.rawValue))"
            }
        }
    }
}
