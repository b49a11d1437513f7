internal import CNice
internal import COpenSSL
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
            return (username, base64(hmacSHA1(of: Array(username.utf8), key: Array(secret.current.utf8))))
        }
    }
}

/// RFC 4648 §4.
private func base64(_ bytes: [UInt8]) -> String {
    var text = [UInt8](repeating: 0, count: (bytes.count + 2) / 3 * 4 + 1)
    let length = EVP_EncodeBlock(&text, bytes, Int32(bytes.count))
    return String(decoding: text.prefix(Int(length)), as: UTF8.self)
}
