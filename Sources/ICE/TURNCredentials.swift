internal import CNice
import FoundationEssentials
import Time

/// The login of this machine, or of a viewer, at a TURN server.
package enum TURNCredentials: Equatable, Sendable {
    case password(username: String, password: String)
    /// A secret shared with the server, from which a username and password with a lifetime are made
    /// (draft-uberti-behave-turn-rest-00).
    case secret(TURNSecret, lifetime: Duration)

    package func current() -> (username: String, password: String) {
        current(at: UInt64(clamping: g_get_real_time() / 1_000_000))
    }

    /// - Parameter now: seconds since 1970.
    func current(at now: UInt64) -> (username: String, password: String) {
        switch self {
        case .password(let username, let password): return (username, password)
        case .secret(let secret, let lifetime):
            let username = "\(now + UInt64(lifetime.seconds)):oriel"
            let code = hmacSHA1(of: Array(username.utf8), key: Array(secret.current.utf8))
            return (username, Data(code).base64EncodedString())
        }
    }
}
