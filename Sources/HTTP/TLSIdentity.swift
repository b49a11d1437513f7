import NIOSSL

/// A certificate with its key, by which a web server serves HTTPS.
package struct TLSIdentity: Sendable {
    /// The host names that the certificate stands for, in its order; without wildcards, which name no host.
    package let names: [String]
    let context: NIOSSLContext

    /// Reads PEM files: the certificate with its chain, and the key.
    package init(certificate: String, key: String) throws(HTTPServerError) {
        let chain: [NIOSSLCertificate]
        do { chain = try NIOSSLCertificate.fromPEMFile(certificate) } catch {
            throw .certificate(file: certificate, reason: "\(error)")
        }
        do {
            let privateKey = try NIOSSLPrivateKey(file: key, format: .pem)
            var configuration = TLSConfiguration.makeServerConfiguration(
                certificateChain: chain.map { .certificate($0) },
                privateKey: .privateKey(privateKey)
            )
            configuration.minimumTLSVersion = .tlsv12
            context = try NIOSSLContext(configuration: configuration)
        } catch {
            throw .certificate(file: key, reason: "\(error)")
        }
        names = chain.first.map(Self.names) ?? []
    }

    private static func names(of certificate: NIOSSLCertificate) -> [String] {
        certificate._subjectAlternativeNames().filter { $0.nameType == .dnsName }
            .compactMap { String(validating: $0.contents, as: UTF8.self) }
            .filter { name in !name.isEmpty && name.utf8.allSatisfy { Self.isNameByte($0) } }
    }

    /// Whether a byte of a name stands for itself in a link.
    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"):
            true
        default: false
        }
    }
}
