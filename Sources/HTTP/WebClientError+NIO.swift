import Glibc
import NIOCore
import NIOPosix
import NIOSSL

extension WebClientError {
    init(_ error: any Error, of origin: WebOrigin) {
        self =
            switch error {
            case let error as WebClientError: error
            case let error as NIOConnectionError:
                Self.isRefusal(error) ? .refused(origin) : .unreachable(origin, reason: reason(error))
            case ChannelError.connectTimeout: .unreachable(origin, reason: reason(error))
            case let error as NIOSSLError where Self.isDistrust(error): .untrusted(origin)
            case let error as NIOSSLExtraError where error == .failedToValidateHostname: .untrusted(origin)
            default: .broken(origin, reason: reason(error))
            }
    }

    private static func isDistrust(_ error: NIOSSLError) -> Bool {
        switch error {
        case .handshakeFailed(.sslError(let details)): "\(details)".contains("CERTIFICATE_VERIFY_FAILED")
        case .unableToValidateCertificate: true
        default: false
        }
    }

    private static func isRefusal(_ error: NIOConnectionError) -> Bool {
        !error.connectionErrors.isEmpty
            && error.connectionErrors.allSatisfy { ($0.error as? IOError)?.errnoCode == ECONNREFUSED }
    }
}
