internal import COpenSSL

/// The reason why there is no TLS.
package struct TLSError: Error, Equatable, CustomStringConvertible {
    package let call: String
    package let reason: String

    package var description: String { "TLS failed (\(call): \(reason))" }

    /// Takes the oldest error of the thread's queue, and empties the queue.
    static func takeQueued(of call: String) -> TLSError {
        let code = ERR_get_error()
        ERR_clear_error()
        let reason = code == 0 ? nil : ERR_reason_error_string(code)
        return TLSError(call: call, reason: reason.map { String(cString: $0) } ?? "no reason given")
    }
}
