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
            "the local ports \(port) and \(Int(port) + 1) cannot both be used (\(error.reason)): choose another"
        case .noLocalPorts: "no pair of local UDP ports is free: choose one"
        case .system(let error):
            "\(error.call) failed on the sockets for RTP (\(error.reason)): see whether the network is up"
        }
    }
}
