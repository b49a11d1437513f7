/// A STUN or TURN server (RFC 8489, RFC 8656), its name already looked up.
package enum ICEServer: Equatable, Sendable {
    package enum Relaying: String, Sendable {
        case udp, tcp
    }

    case stun(address: String, port: UInt16)
    case turn(address: String, port: UInt16, Relaying, username: String, password: String)
}
