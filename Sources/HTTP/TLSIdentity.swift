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
        // Each byte stands for itself in a link.
        let bytes = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-".utf8)
        return certificate._subjectAlternativeNames().filter { $0.nameType == .dnsName }
            .compactMap { String(validating: $0.contents, as: UTF8.self) }
            .filter { !$0.isEmpty && bytes.isSuperset(of: $0.utf8) }
    }
}
