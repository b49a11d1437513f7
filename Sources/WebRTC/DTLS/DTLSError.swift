internal import COpenSSL

/// The reason why there is no DTLS association.
package enum DTLSError: Error, Equatable, CustomStringConvertible {
    case openSSL(call: String, reason: String)
    case wrongFingerprint
    case noSRTPProfile

    package var description: String {
        switch self {
        case .openSSL(let call, let reason): "the DTLS handshake failed (\(call): \(reason))"
        case .wrongFingerprint: "the peer's certificate does not match the fingerprint in its session description"
        case .noSRTPProfile: "the peer speaks no SRTP profile that is spoken here"
        }
    }

    /// Takes the oldest error of the thread's queue, and empties the queue.
    static func takeQueued(of call: String) -> DTLSError {
        let code = ERR_get_error()
        ERR_clear_error()
        let reason = code == 0 ? nil : ERR_reason_error_string(code)
        return .openSSL(call: call, reason: reason.map { String(cString: $0) } ?? "no reason given")
    }
}
