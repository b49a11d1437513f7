import Glibc
import Posix

/// The person's switch for all recordings of a broadcast, a file in its folder. It stays as it is until it is moved again.
extension BridgeDirectory {
    private static let recordingIsOff = "recording-off"

    /// Also where nobody can tell.
    package var isRecordingOff: Bool { attributes(of: Self.recordingIsOff) != nil || errno != ENOENT }

    package func setRecording(isOff: Bool) throws(BridgeError) {
        if isOff {
            _ = try open(Self.recordingIsOff, O_WRONLY | O_CREAT)
        } else if !remove(Self.recordingIsOff) {
            throw .system(path: path(of: Self.recordingIsOff), SystemError("unlinkat"))
        }
    }
}
