import Calls
import FrameBridge
import HTTP
import Posix
import Sender
import VideoEncoding
import WebRTC
import X11Capture

/// Why a command ends without having done its work: an exit code and one sentence for a person.
struct Failure: Error {
    enum Code: Int32 {
        case failed = 1
        /// EX_USAGE of sysexits.h.
        case usage = 64
        /// EX_UNAVAILABLE: the X server or the host of the call is not there.
        case unavailable = 69
        /// EX_TEMPFAIL: there is no broadcast, or it does not answer; try again later.
        case tryAgain = 75
    }

    let code: Code
    let sentence: String

    init(_ code: Code, _ sentence: String) {
        self.code = code
        self.sentence = sentence
    }

    init(_ error: X11Error) {
        let code: Code =
            switch error {
            case .noDisplayNamed, .cannotConnect, .noSuchScreen, .connectionLost, .notResponding: .unavailable
            case .badRegion: .usage
            default: .failed
            }
        self.init(code, "\(error)" + (error == .noDisplayNamed ? " or pass --display" : ""))
    }

    init(_ error: PlainRTPError) {
        let code: Code = if case .unresolved = error { .unavailable } else { .failed }
        let advice =
            switch error {
            case .localPort: " --local-port"
            case .noLocalPorts: " with --local-port"
            case .unresolved, .system: ""
            }
        self.init(code, "\(error)\(advice)")
    }

    init(_ error: HTTPServerError) {
        let advice = if case .cannotListen = error { ": choose another address or port with --listen" } else { "" }
        self.init(.failed, "\(error)\(advice)")
    }

    init(_ error: BridgeError) {
        let code: Code =
            switch error {
            case .invalidName: .usage
            case .noBroadcast, .noAnswer: .tryAgain
            default: .failed
            }
        let advice =
            switch error {
            case .notPrivate: " or choose another with --dir"
            case .noBroadcast: " with \"oriel start\""
            case .alreadyRunning: " with \"oriel stop\" or choose another --name"
            case .noSpace: " or choose another --dir"
            default: ""
            }
        self.init(code, "\(error)\(advice)")
    }
}

extension Failure {
    /// The failure that an error of another room means; nil for any other error, such as that of a wrong command line.
    init?(describing error: any Error) {
        switch error {
        case let failure as Failure: self = failure
        case let error as X11Error: self.init(error)
        case let error as BridgeError: self.init(error)
        case let error as PlainRTPError: self.init(error)
        case let error as HTTPServerError: self.init(error)
        case let error as SenderControlError: self.init(.tryAgain, "\(error)")
        case let error as UnresolvedHost: self.init(.unavailable, "\(error)")
        case let error as DTLSError: self.init(.failed, "\(error)")
        case let error as VideoEncoderError: self.init(.failed, "\(error)")
        case let error as SystemError: self.init(.failed, "\(error)")
        default: return nil
        }
    }
}
