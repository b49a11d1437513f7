package enum HTTPServerError: Error, CustomStringConvertible {
    case cannotListen(ListenAddress, reason: String)
    case certificate(file: String, reason: String)

    package var description: String {
        switch self {
        case .cannotListen(let address, let reason):
            "cannot listen on \(address) (\(reason))"
        case .certificate(let file, let reason):
            "cannot use \(file) for TLS (\(reason)): give PEM files of a certificate and its key"
        }
    }
}
