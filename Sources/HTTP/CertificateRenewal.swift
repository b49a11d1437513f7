package import Time

/// A server's certificate whose files may be renewed while it serves: when they are looked at again, and what becomes of what they have
/// then. Sans-IO.
package struct CertificateRenewal: Sendable {
    /// What a look has brought.
    package enum News: Sendable {
        /// Another certificate is in use from now on.
        case renewed
        /// The files are of no use, and the certificate of before stays in use. Told once, until they change again.
        case unfit(HTTPServerError)
    }

    /// Files are looked at no more often.
    package static let interval = Duration.seconds(60)

    private let (certificate, key): (String, String)
    /// In use.
    package private(set) var identity: TLSIdentity
    /// What the files had at the last look.
    private var seen: [[UInt8]?]?
    private var nextLook = Instant.start

    /// Reads PEM files: the certificate with its chain, and the key.
    package init(certificate: String, key: String) throws(HTTPServerError) {
        (self.certificate, self.key) = (certificate, key)
        identity = try TLSIdentity(certificate: certificate, key: key)
    }

    /// Whether somebody who connects now has the files looked at.
    package mutating func takeLook(at now: Instant) -> Bool {
        guard now >= nextLook else { return false }
        nextLook = now + Self.interval
        return true
    }

    /// Takes what the files have: of the certificate, and of the key; nil for one that cannot be read.
    package mutating func take(certificate chain: [UInt8]?, key bytes: [UInt8]?) -> News? {
        guard seen != [chain, bytes] else { return nil }
        seen = [chain, bytes]
        do throws(HTTPServerError) {
            let renewed = try TLSIdentity(Self.pem(certificate, chain), Self.pem(key, bytes))
            defer { identity = renewed }
            return renewed.fingerprint == identity.fingerprint ? nil : .renewed
        } catch {
            return .unfit(error)
        }
    }

    private static func pem(_ file: String, _ bytes: [UInt8]?) throws(HTTPServerError) -> TLSIdentity.PEM {
        guard let bytes else { throw .certificate(file: file, reason: "it cannot be read again") }
        return TLSIdentity.PEM(file: file, bytes: bytes)
    }
}
