import NIOCore
import NIOSSL

/// The certificates that a client of HTTPS trusts.
package struct TLSTrust: Sendable {
    let context: NIOSSLContext

    /// Reads the system's store.
    ///
    /// - Parameter file: of certificates to trust beside those, as PEM; nil for none.
    /// - Throws: `trust`.
    package init(alsoTrusting file: String? = nil) throws(WebClientError) {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        configuration.applicationProtocols = ["http/1.1"]
        configuration.shutdownTimeout = .milliseconds(200)
        let certificates: [NIOSSLCertificate]
        do { certificates = try file.map { try NIOSSLCertificate.fromPEMFile($0) } ?? [] } catch {
            throw .trust(file: file ?? "", reason: "\(error)")
        }
        configuration.additionalTrustRoots = [.certificates(certificates)]
        if let context = try? NIOSSLContext(configuration: configuration) {
            self.context = context
            return
        }
        // The system has no store.
        configuration.trustRoots = .certificates(certificates)
        configuration.additionalTrustRoots = []
        do { context = try NIOSSLContext(configuration: configuration) } catch {
            throw .trust(file: file ?? "the system's store", reason: "\(error)")
        }
    }
}
