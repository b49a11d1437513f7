package import Posix

/// Why a plain RTP call could not begin.
package enum PlainRTPError: Error, Equatable, CustomStringConvertible {
    case unresolved(UnresolvedHost)
    /// The wanted local port, or the one after it, cannot be used.
    case localPort(UInt16, SystemError)
    /// No even port with a free one after it was found.
    case noLocalPorts
    case system(SystemError)

    package var description: String {
        switch self {
        case .unresolved(let error): error.description
        case .localPort(let port, let error):
            "The local ports \(port) and \(Int(port) + 1) cannot both be used: \(error.reason)."
        case .noLocalPorts: "No even local UDP port with a free one after it was found."
        case .system(let error): "The sockets for RTP could not be set up: \(error)."
        }
    }
}
