import Glibc
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import NIOWebSocket

/// The reason why a connection failed, in words for people: the system's, or Oriel's own for errors of SwiftNIO.
func reason(_ error: any Error) -> String {
    switch error {
    case let error as IOError: String(cString: strerror(error.errnoCode))
    case let error as NIOConnectionError:
        error.connectionErrors.first.map { reason($0.error) } ?? "its name has no address"
    case is SocketAddressError.UnknownHost, SocketAddressError.unknown: "its name has no address"
    case is SocketAddressError: "that is no address"
    case ChannelError.connectTimeout: "no answer in time"
    case is ChannelError, NIOSSLError.uncleanShutdown, is Closed: "the other side closed it"
    case is HTTPParserError, is NIOHTTPDecoderError: "the answer is not HTTP"
    case is NIOWebSocketError, is NIOWebSocketUpgradeError: "the answer is not of a WebSocket"
    case NIOSSLError.handshakeFailed(.sslError(let errors)): "no TLS\(errors.first.map { ": \(words(of: $0))" } ?? "")"
    case is NIOSSLError, is NIOSSLExtraError, is BoringSSLError: "no TLS"
    default: "for a reason that is not known"
    }
}

/// The reason why a file of certificates or keys cannot be opened, in the system's words; nil if it can.
func reasonNotToOpen(_ file: String) -> String? {
    let descriptor = open(file, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    if descriptor < 0 { return String(cString: strerror(errno)) }
    close(descriptor)
    return nil
}

/// For example "wrong version number" of `error:100000f7:SSL routines:OPENSSL_internal:WRONG_VERSION_NUMBER at
/// FILE:LINE`.
private func words(of error: BoringSSLInternalError) -> String {
    let text = "\(error)"
    guard let start = text.firstRange(of: "OPENSSL_internal:") else { return "the handshake was broken off" }
    return text[start.upperBound...].prefix { $0 != " " }.replacing("_", with: " ").lowercased()
}

/// The other side has closed a connection before its response came.
struct Closed: Error {}
