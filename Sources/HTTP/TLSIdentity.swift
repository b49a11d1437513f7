internal import COpenSSL
import NIOSSL

/// A certificate with its key, for a server of HTTPS.
package struct TLSIdentity: Sendable {
    /// The host names of the certificate, in its order; without wildcards, which name no host.
    package let names: [String]
    /// The SHA-256 of the certificate (RFC 8122 §5), as browsers show it: pairs of hexadecimal digits with colons in
    /// between.
    package let fingerprint: String
    /// The wall-clock time after which no browser accepts the certificate, in seconds since 1970.
    package let expiresAt: Int
    let context: NIOSSLContext

    /// Reads a PEM file with this machine's self-signed certificate and its key. It has no names: they prove nothing.
    package init(selfSigned file: String) throws(HTTPServerError) {
        let identity = try TLSIdentity(certificate: file, key: file)
        (context, fingerprint, expiresAt) = (identity.context, identity.fingerprint, identity.expiresAt)
        names = []
    }

    /// Reads PEM files: the certificate with its chain, and the key.
    package init(certificate: String, key: String) throws(HTTPServerError) {
        try self.init(PEM(file: certificate), PEM(file: key))
    }

    init(_ certificate: PEM, _ key: PEM) throws(HTTPServerError) {
        let chain: [NIOSSLCertificate]
        do {
            chain =
                try certificate.bytes.map { try NIOSSLCertificate.fromPEMBytes($0) }
                ?? NIOSSLCertificate.fromPEMFile(certificate.file)
        } catch {
            throw .certificate(file: certificate.file, reason: certificate.reason ?? "it holds no certificate")
        }
        do {
            let privateKey =
                try key.bytes.map { try NIOSSLPrivateKey(bytes: $0, format: .pem) }
                ?? NIOSSLPrivateKey(file: key.file, format: .pem)
            var configuration = TLSConfiguration.makeServerConfiguration(
                certificateChain: chain.map { .certificate($0) },
                privateKey: .privateKey(privateKey)
            )
            configuration.minimumTLSVersion = .tlsv12
            context = try NIOSSLContext(configuration: configuration)
        } catch {
            throw .certificate(file: key.file, reason: key.reason ?? "it holds no key of that certificate")
        }
        names = chain.first.map(Self.names) ?? []
        fingerprint = chain.first.flatMap { try? Self.fingerprint(of: $0.toDERBytes()) } ?? ""
        expiresAt = chain.first.map { Int($0.notValidAfter) } ?? 0
    }

    struct PEM {
        /// The name that a person gave.
        let file: String
        /// The content, if another process has read it; nil if the file is yet to be read.
        var bytes: [UInt8]?

        /// The reason why the file cannot be opened; nil if it can.
        fileprivate var reason: String? { bytes == nil ? reasonNotToOpen(file) : nil }
    }

    private static func fingerprint(of certificate: [UInt8]) -> String {
        var digest = [UInt8](repeating: 0, count: Int(SHA256_DIGEST_LENGTH))
        SHA256(certificate, certificate.count, &digest)
        return digest.map { ($0 < 0x10 ? "0" : "") + String($0, radix: 16, uppercase: true) }.joined(separator: ":")
    }

    private static func names(of certificate: NIOSSLCertificate) -> [String] {
        certificate._subjectAlternativeNames().filter { $0.nameType == .dnsName }
            .compactMap { String(validating: $0.contents, as: UTF8.self) }
            .filter(\.isHostName)
    }
}

extension String {
    private static let hostBytes = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-".utf8)

    /// Whether it has letters, digits, hyphens and dots alone: they need no escapes in a link, nor in a list of OpenSSL's.
    var isHostName: Bool { !isEmpty && Self.hostBytes.isSuperset(of: utf8) }
}
