package import Time

/// Decides who may use the service: whoever knows the token. Wrong tokens are limited for each network.
///
/// The right token is let in however many wrong ones come: only the token tells clients behind one address or proxy apart,
/// and none of them may lock out another. So it is the length of the token that makes guessing hopeless, not the guard. The
/// limit spares work and tells a client to stop trying.
///
/// Sans-IO.
package struct TokenGuard: Sendable {
    package enum Decision: Equatable, Sendable {
        case allowed
        case wrongToken
        /// Too many wrong tokens came from the client's network; seconds until it may send one more.
        case tooManyWrong(retryAfter: Int)
    }

    /// How many wrong tokens a network may send at once. After each `recovery` it may send one more.
    static let failureLimit = 10
    static let recovery = Duration.seconds(6)

    private let token: [UInt8]?
    private(set) var failures = NetworkAllowance(limit: failureLimit, recovery: recovery)

    /// - Parameter token: nil lets everybody in.
    package init(token: String?) { self.token = token.map { Array($0.utf8) } }

    /// - Parameters:
    ///   - authorization: the header's value (RFC 6750 §2.1).
    ///   - address: the client's, in numbers.
    package mutating func check(_ authorization: String?, from address: String, now: Instant) -> Decision {
        guard let token else { return .allowed }
        if let given = Self.bearer(authorization), Self.isEqual(given, token) { return .allowed }
        // A request without a token is no guess.
        guard authorization != nil else { return .wrongToken }
        if failures.take(from: address, now: now) == 1 { return .wrongToken }
        return .tooManyWrong(retryAfter: failures.wait(of: address, now: now))
    }

    private static func bearer(_ authorization: String?) -> [UInt8]? {
        guard let authorization, authorization.lowercased().hasPrefix("bearer ") else { return nil }
        return Array(authorization.utf8.dropFirst("bearer ".utf8.count))
    }

    /// Takes as long for a wrong first byte as for a wrong last one.
    static func isEqual(_ given: [UInt8], _ token: [UInt8]) -> Bool {
        if token.isEmpty { return false }
        var difference = given.count ^ token.count
        for index in given.indices { difference |= Int(given[index] ^ token[index % token.count]) }
        return difference == 0
    }
}
