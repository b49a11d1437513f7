import Helpers
import Pairing
import Posix
import Publishing
import Sound
import TLS
import X11Capture

extension Failure {
    /// The failure that an error of any process means; nil for an error of the parser of arguments.
    init?(ending error: any Error) {
        switch error {
        case X11Error.noDisplayNamed: self.init(.unavailable, "\(error) or pass --display")
        case X11Error.cannotConnect, X11Error.noSuchScreen, X11Error.connectionLost, X11Error.notResponding:
            self.init(.unavailable, "\(error)")
        case X11Error.badRegion: self.init(.usage, "\(error)")
        case X11Error.system(let system):
            self.init(.failed, "\(error)" + (system.limitAdvice.map { ": \($0)" } ?? ""))
        case is X11Error: self.init(.failed, "\(error)")
        case PairStoreError.busy: self.init(.tryAgain, "\(error)")
        case is PairStoreError, is TLSError: self.init(.failed, "\(error)")
        case is SoundDevices.Unavailable: self.init(.unavailable, "\(error)")
        default: self.init(describing: error)
        }
    }
}
