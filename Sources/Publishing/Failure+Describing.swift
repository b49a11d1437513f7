import Access
import Calls
import Configuration
import Control
import FrameBridge
import HTTP
package import Helpers
import Posix
import VideoEncoding
import WebRTC

extension Failure {
    /// The failure that an error of a module below means, with advice about options where that helps; nil for any other error, such as
    /// that of a wrong command line.
    package init?(describing error: any Error) {
        if let failure = error as? Failure {
            self = failure
            return
        }
        let known: (code: Code, advice: String)? =
            switch error {
            case BridgeError.invalidName: (.usage, "")
            case BridgeError.noBroadcast: (.tryAgain, " with \"oriel share\" or \"oriel start\"")
            case BridgeError.noAnswer: (.tryAgain, "")
            case BridgeError.notPrivate: (.failed, " or choose another with --dir")
            case BridgeError.alreadyRunning: (.failed, " with \"oriel stop\" or choose another --name")
            case BridgeError.noSpace: (.failed, " or choose another --dir")
            case let end as CallEnd: (Code(rawValue: end.kind.rawValue) ?? .failed, "")
            case HTTPServerError.cannotListen: (.failed, ": choose another address or port with --listen")
            case let error as ControlError: (error.isTemporary ? .tryAgain : .failed, "")
            case is ConfigurationError: (.usage, "")
            case GuestStoreError.busy: (.tryAgain, "")
            case is UnresolvedHost: (.unavailable, "")
            case let error as SystemError: (.failed, error.limitAdvice.map { ": \($0)" } ?? "")
            case is BridgeError, is HTTPServerError, is WebClientError, is DTLSError, is VideoEncoderError,
                is GuestStoreError, is StateFolder.Missing:
                (.failed, "")
            default: nil
            }
        guard let known else { return nil }
        self.init(known.code, "\(error)\(known.advice)")
    }
}
