/// A STUN or TURN server (RFC 8489, RFC 8656) with a resolved name.
package enum ICEServer: Equatable, Sendable {
    package enum Relaying: String, Sendable {
        case udp, tcp
    }

    case stun(address: String, port: UInt16)
    case turn(address: String, port: UInt16, Relaying, TURNCredentials)

    /// The lifetime of its credentials; nil for ever.
    package var lifetime: Duration? {
        if case .turn(_, _, _, .secret(_, let lifetime)) = self { lifetime } else { nil }
    }
}

/// How a TURN server is reached.
package enum TURNTransport: String, Sendable {
    case udp, tcp, tls

    /// The address of the server, for people (RFC 7065).
    ///
    /// - Parameter place: its host and port.
    package func address(of place: String) -> String {
        switch self {
        case .udp: "turn:\(place)"
        case .tcp: "turn:\(place)?transport=tcp"
        case .tls: "turns:\(place)"
        }
    }
}
