import Access
import Calls
import Configuration
import Control
import FrameBridge
import HTTP
import Posix
import Sound
import VideoEncoding
import WebRTC
import X11Capture

/// Why a command ends without having done its work: an exit code and one sentence for a person.
struct Failure: Error, Equatable, CustomStringConvertible {
    enum Code: Int32 {
        case failed = 1
        /// EX_USAGE of sysexits.h.
        case usage = 64
        /// EX_UNAVAILABLE: the X server or the host of the call is not there.
        case unavailable = 69
        /// EX_TEMPFAIL: there is no broadcast, or it does not answer; try again later.
        case tryAgain = 75
        /// EX_NOPERM: the other side does not let this one in, or has sent it away.
        case refused = 77
    }

    let code: Code
    let sentence: String

    init(_ code: Code, _ sentence: String) {
        self.code = code
        self.sentence = sentence
    }

    /// The parser of arguments shows this of what is thrown while it works.
    var description: String { sentence }
}

extension Failure {
    /// The failure that an error of another room means, with advice about options where that helps; nil for any other error,
    /// such as that of a wrong command line.
    init?(describing error: any Error) {
        if let failure = error as? Failure {
            self = failure
            return
        }
        let known: (code: Code, advice: String)? =
            switch error {
            case X11Error.noDisplayNamed: (.unavailable, " or pass --display")
            case X11Error.cannotConnect, X11Error.noSuchScreen, X11Error.connectionLost, X11Error.notResponding:
                (.unavailable, "")
            case X11Error.badRegion: (.usage, "")
            case BridgeError.invalidName: (.usage, "")
            case BridgeError.noBroadcast: (.tryAgain, " with \"oriel start\"")
            case BridgeError.noAnswer: (.tryAgain, "")
            case BridgeError.notPrivate: (.failed, " or choose another with --dir")
            case BridgeError.alreadyRunning: (.failed, " with \"oriel stop\" or choose another --name")
            case BridgeError.noSpace: (.failed, " or choose another --dir")
            case let end as CallEnd:
                switch end.kind {
                case .unavailable: (.unavailable, "")
                case .tryAgain: (.tryAgain, "")
                case .failed: (.failed, "")
                case .refused: (.refused, "")
                }
            case HTTPServerError.cannotListen: (.failed, ": choose another address or port with --listen")
            case let error as ControlError: (error.isTemporary ? .tryAgain : .failed, "")
            case is ConfigurationError: (.usage, "")
            case GuestStoreError.busy: (.tryAgain, "")
            case is UnresolvedHost, is SoundDevices.Unavailable: (.unavailable, "")
            case let error as SystemError: (.failed, error.limitAdvice.map { ": \($0)" } ?? "")
            case X11Error.system(let error): (.failed, error.limitAdvice.map { ": \($0)" } ?? "")
            case is X11Error, is BridgeError, is HTTPServerError, is WebClientError, is DTLSError, is VideoEncoderError,
                is GuestStoreError, is StateFolder.Missing:
                (.failed, "")
            default: nil
            }
        guard let known else { return nil }
        self.init(known.code, "\(error)\(known.advice)")
    }
}
