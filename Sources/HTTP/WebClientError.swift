/// The reason why a web server gave no response.
package enum WebClientError: Error, Equatable, CustomStringConvertible {
    /// The machine is there, and refuses the connection: the server does not run.
    case refused(WebOrigin)
    case unreachable(WebOrigin, reason: String)
    /// The server's certificate is not trusted, or is for another host.
    case untrusted(WebOrigin)
    /// The answer is not TLS, or the connection was lost.
    case broken(WebOrigin, reason: String)
    case silent(WebOrigin)
    case tooLarge(WebOrigin)
    /// A certificate to trust cannot be read.
    case trust(file: String, reason: String)

    package var description: String {
        switch self {
        case .refused(let origin), .unreachable(let origin, _), .untrusted(let origin), .broken(let origin, _),
            .silent(let origin), .tooLarge(let origin):
            sentence(naming: "\(origin)")
        case .trust: sentence(naming: "")
        }
    }

    /// The sentence for a person who named the server in another form, for example with the scheme of another protocol.
    ///
    /// - Parameter server: the server in the person's form, in place of its origin.
    package func sentence(naming server: String) -> String {
        switch self {
        case .refused: "cannot reach \(server) (Connection refused)"
        case .unreachable(_, let reason): "cannot reach \(server) (\(reason))"
        case .untrusted:
            "the certificate of \(server) is not trusted: give its authority's certificate with --trust FILE, or its own if it is self-signed"
        case .broken(_, let reason): "the connection to \(server) broke (\(reason))"
        case .silent: "\(server) does not answer"
        case .tooLarge: "the response of \(server) is too large"
        case .trust(let file, let reason): "cannot read a certificate from \(file) (\(reason)): give a PEM file"
        }
    }
}
