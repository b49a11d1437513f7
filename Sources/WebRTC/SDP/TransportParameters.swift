/// The credentials of an ICE agent's checks (RFC 8839 §5.4).
package struct ICECredentials: Equatable, Sendable {
    package let fragment: String
    package let password: String

    /// Nil unless both have an allowed length (4…256 and 22…256) and only allowed characters.
    package init?(fragment: String, password: String) {
        let isValid: (String, Int) -> Bool = { text, shortest in
            // Of these signs, ICE allows + and / only. Some agents use the others too.
            shortest...256 ~= text.utf8.count
                && text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "+/-_=".contains($0)) }
        }
        guard isValid(fragment, 4), isValid(password, 22) else { return nil }
        self.fragment = fragment
        self.password = password
    }

    /// New credentials of letters and digits alone: some servers take "+" and "/" for operators of a pattern. The
    /// fragment has 47 random bits and the password 142. RFC 8445 §5.3 demands 24 and 128.
    package init() {
        fragment = Self.text(8)
        password = Self.text(24)
    }

    private static func text(_ length: Int) -> String {
        let characters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")
        return String((0..<length).map { _ in characters[Int.random(in: 0..<characters.count)] })
    }
}

/// The hash of a certificate (RFC 8122 §5).
package struct Fingerprint: Equatable, Sendable, CustomStringConvertible {
    package enum Hash: String, Sendable, CaseIterable {
        case sha256 = "sha-256", sha384 = "sha-384", sha512 = "sha-512"

        var size: Int {
            switch self {
            case .sha256: 32
            case .sha384: 48
            case .sha512: 64
            }
        }
    }

    package let hash: Hash
    package let bytes: [UInt8]

    package init(_ hash: Hash, _ bytes: [UInt8]) {
        precondition(bytes.count == hash.size)
        self.hash = hash
        self.bytes = bytes
    }

    /// Parses the value of a `fingerprint` attribute. Nil if it is malformed, or its hash is too weak.
    package init?(parsing text: String) {
        let words = text.split(separator: " ")
        guard words.count == 2, let hash = Hash(rawValue: words[0].lowercased()) else { return nil }
        let octets = words[1].split(separator: ":", omittingEmptySubsequences: false)
        let bytes = octets.compactMap { $0.utf8.count == 2 ? UInt8(digits: $0, radix: 16) : nil }
        guard bytes.count == octets.count, bytes.count == hash.size else { return nil }
        self.init(hash, bytes)
    }

    package var description: String {
        let octets = bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: true) }
        return "\(hash.rawValue) \(octets.joined(separator: ":"))"
    }
}

/// The side that begins the DTLS handshake (RFC 8842 §5, RFC 4145 §4).
package enum DTLSRole: Sendable, Equatable {
    case client, server

    /// The role of the side that reads a peer's `setup`. A peer that leaves the choice, or says nothing, is passive: the
    /// handshake begins as soon as there is a path (RFC 8842 §5.3, RFC 4145 §4).
    ///
    /// - Parameter isOffer: whether the peer may leave the choice.
    init(answering setup: String?, isOffer: Bool) throws(Shortcoming) {
        switch setup {
        case "active": self = .server
        case "passive", nil: self = .client
        case "actpass" where isOffer: self = .client
        case let other?:
            throw Shortcoming(
                what: "says a=setup:\(other)" + (isOffer ? ": offer actpass" : " instead of active or passive")
            )
        }
    }
}

/// One side's transport, from its session description.
package struct TransportParameters: Equatable, Sendable {
    package var credentials: ICECredentials
    /// Any of them may match. Never empty.
    package var fingerprints: [Fingerprint]
    package var candidates: [Candidate]
    /// Whether further candidates come later (RFC 8838).
    package var isTrickling = false
    /// Whether it only answers connectivity checks (RFC 8445 §2.5), so that the other side must lead.
    package var isLite = false
}

extension TransportParameters {
    package init(credentials: ICECredentials, fingerprints: [Fingerprint], candidates: [Candidate]) {
        (self.credentials, self.fingerprints, self.candidates) = (credentials, fingerprints, candidates)
    }
}
