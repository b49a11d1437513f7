package import Time

/// A server's certificate whose files may be renewed while it serves. It decides when the files are read again, and
/// gets their content. Sans-IO.
package struct CertificateRenewal: Sendable {
    /// The outcome of reading the files again.
    package enum News: Sendable {
        /// Another certificate is in use from now on.
        case renewed
        /// The files cannot be used, and the certificate stays. Reported once, until they change again.
        case unfit(HTTPServerError)
    }

    /// The shortest time between two reads of the files.
    package static let interval = Duration.seconds(60)

    private let (certificate, key): (String, String)
    package private(set) var identity: TLSIdentity
    /// The content of the files at the last read.
    private var seen: [[UInt8]?]?
    private var nextLook = Instant.start

    /// Reads PEM files: the certificate with its chain, and the key.
    package init(certificate: String, key: String) throws(HTTPServerError) {
        (self.certificate, self.key) = (certificate, key)
        identity = try TLSIdentity(certificate: certificate, key: key)
    }

    /// Whether to read the files for a client that connects now: at most once in `interval`.
    package mutating func takeLook(at now: Instant) -> Bool {
        guard now >= nextLook else { return false }
        nextLook = now + Self.interval
        return true
    }

    /// Receives the content of the files, PEM; nil for one that cannot be read.
    ///
    /// - Returns: nil if nothing has changed.
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
