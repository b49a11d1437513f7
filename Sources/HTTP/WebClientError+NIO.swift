import Glibc
import NIOCore
import NIOPosix
import NIOSSL

extension WebClientError {
    /// What SwiftNIO says of a connection.
    init(_ error: any Error, of origin: WebOrigin) {
        self =
            switch error {
            case let error as WebClientError: error
            case let error as NIOConnectionError:
                Self.isRefusal(error) ? .refused(origin) : .unreachable(origin, reason: Self.reason(error))
            case ChannelError.connectTimeout: .unreachable(origin, reason: "no answer in time")
            case let error as NIOSSLError:
                Self.isDistrust(error) ? .untrusted(origin) : .broken(origin, reason: "\(error)")
            case let error as NIOSSLExtraError where error == .failedToValidateHostname: .untrusted(origin)
            case let error as IOError: .broken(origin, reason: String(cString: strerror(error.errnoCode)))
            default: .broken(origin, reason: "\(error)")
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

    /// The sentence of the system, or why the host has no address.
    private static func reason(_ error: NIOConnectionError) -> String {
        if let failure = error.connectionErrors.first?.error as? IOError {
            return String(cString: strerror(failure.errnoCode))
        }
        if error.connectionErrors.first?.error is ChannelError { return "no answer in time" }
        return "its name has no address"
    }
}
