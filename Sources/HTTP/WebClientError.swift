/// Why a web server gave no response.
package enum WebClientError: Error, Equatable, CustomStringConvertible {
    /// The machine is there, and nobody listens: the server does not run.
    case refused(WebOrigin)
    /// Nobody answers there.
    case unreachable(WebOrigin, reason: String)
    /// The server's certificate is not trusted, or is for another host.
    case untrusted(WebOrigin)
    /// Something that is no TLS answers, or the connection was lost.
    case broken(WebOrigin, reason: String)
    case silent(WebOrigin)
    /// The response is larger than what is taken.
    case tooLarge(WebOrigin)
    /// A certificate to trust cannot be read.
    case trust(file: String, reason: String)

    package var description: String {
        switch self {
        case .refused(let origin): "cannot reach \(origin) (Connection refused)"
        case .unreachable(let origin, let reason): "cannot reach \(origin) (\(reason))"
        case .untrusted(let origin):
            "the certificate of \(origin) is not trusted: if it should be, give that of its authority, or it if it is self-signed, with --trust FILE"
        case .broken(let origin, let reason): "the connection to \(origin) broke (\(reason))"
        case .silent(let origin): "\(origin) does not answer"
        case .tooLarge(let origin): "the response of \(origin) is too large"
        case .trust(let file, let reason): "cannot read a certificate from \(file) (\(reason)): give a PEM file"
        }
    }
}
