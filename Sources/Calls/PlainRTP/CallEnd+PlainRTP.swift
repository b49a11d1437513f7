import Posix

/// Why a call over plain RTP cannot begin.
extension CallEnd {
    static func unresolved(_ error: UnresolvedHost) -> CallEnd {
        CallEnd(.unavailable, "\(error)", reason: .failed)
    }

    /// The wanted local port, or the one after it, cannot be used.
    static func localPort(_ port: UInt16, _ error: SystemError) -> CallEnd {
        let ports = "\(port) and \(Int(port) + 1)"
        return CallEnd(
            .failed,
            "the local ports \(ports) cannot both be used (\(error.reason)): choose another --local-port"
        )
    }

    /// No even port with a free one after it was found.
    static let noLocalPorts = CallEnd(.failed, "no pair of local UDP ports is free: choose one with --local-port")

    static func sockets(_ error: SystemError) -> CallEnd {
        let sentence = "\(error.call) failed on the sockets for RTP (\(error.reason)): see whether the network is up"
        return CallEnd(.failed, sentence)
    }
}
