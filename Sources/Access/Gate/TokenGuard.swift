package import Time

/// Checks the token of clients. Limits wrong tokens for each network.
///
/// The right token is accepted after any number of wrong ones. Only the token tells clients behind one address or proxy
/// apart, and none of them may lock out another. So the token's length makes guessing hopeless, not the guard. The
/// limit saves work, and tells a client to stop trying.
///
/// Sans-IO.
package struct TokenGuard: Sendable {
    package enum Decision: Equatable, Sendable {
        case allowed
        /// By the token of an invitation, of which this is the number.
        case invited(Int)
        case wrongToken
        /// The client's network sent too many wrong tokens; seconds until it may send one more.
        case tooManyWrong(retryAfter: Int)
    }

    /// The most wrong tokens of a network at once. After each `recovery` it may send one more.
    static let failureLimit = 10
    static let recovery = Duration.seconds(6)

    /// The longest token of which a hash is made, in bytes.
    private static let longest = 256

    private let token: [UInt8]?
    /// The numbers of invitations.
    private var invites: [TokenHash: Int] = [:]
    private(set) var failures = NetworkAllowance(limit: failureLimit, recovery: recovery)

    /// - Parameter token: nil lets everybody in.
    package init(token: String?) { self.token = token.map { Array($0.utf8) } }

    /// Notes tokens of invitations by their numbers; nil for one that is over.
    mutating func note(_ tokens: [(token: TokenHash, number: Int?)]) {
        for (token, number) in tokens { invites[token] = number }
    }

    /// - Parameters:
    ///   - authorization: the header's value (RFC 6750 §2.1).
    ///   - address: the client's, in numbers.
    ///   - hash: the SHA-256 of a token.
    package mutating func check(
        _ authorization: String?,
        from address: String,
        hash: (String) -> TokenHash? = { _ in nil },
        now: Instant
    ) -> Decision {
        guard let token else { return .allowed }
        if let given = Self.bearer(authorization) {
            if Self.isEqual(given, token) { return .allowed }
            if !invites.isEmpty, given.count <= Self.longest,
                let number = hash(String(decoding: given, as: UTF8.self)).flatMap({ invites[$0] })
            {
                return .invited(number)
            }
        }
        // A request without a token is not a guess.
        guard authorization != nil else { return .wrongToken }
        if failures.take(from: address, now: now) == 1 { return .wrongToken }
        return .tooManyWrong(retryAfter: failures.wait(of: address, now: now))
    }

    private static func bearer(_ authorization: String?) -> [UInt8]? {
        guard let authorization, authorization.lowercased().hasPrefix("bearer ") else { return nil }
        return Array(authorization.utf8.dropFirst("bearer ".utf8.count))
    }

    /// Takes equally long for a wrong first byte and a wrong last one.
    static func isEqual(_ given: [UInt8], _ token: [UInt8]) -> Bool {
        if token.isEmpty { return false }
        var difference = given.count ^ token.count
        for index in given.indices { difference |= Int(given[index] ^ token[index % token.count]) }
        return difference == 0
    }
}
