package enum BearerToken {
    /// Whether a text has the characters of bearer tokens alone (RFC 6750 §2.1).
    package static func isOne(_ text: String) -> Bool {
        Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~+/=".utf8).isSuperset(of: text.utf8)
    }
}
