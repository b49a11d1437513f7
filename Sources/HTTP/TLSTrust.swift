import NIOCore
import NIOSSL

/// The certificates that a client of TLS trusts.
package struct TLSTrust: Sendable {
    package enum Application: String, Sendable {
        case http = "http/1.1"
        /// RFC 7443.
        case turn = "stun.turn"
    }

    let context: NIOSSLContext

    /// Reads the system's store.
    ///
    /// - Parameters:
    ///   - file: of certificates to trust beside those, as PEM; nil for none.
    ///   - application: what is spoken inside of TLS (RFC 7301).
    /// - Throws: `trust`.
    package init(alsoTrusting file: String? = nil, toSpeak application: Application = .http) throws(WebClientError) {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        configuration.applicationProtocols = [application.rawValue]
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

    /// What speaks TLS to a server, and checks its certificate.
    func handler(for server: WebOrigin) throws -> NIOSSLClientHandler {
        // An address is compared with those of the certificate, and names no server (RFC 6066 §3).
        let name = IPAddress(parsing: server.host) == nil ? server.host : nil
        return try NIOSSLClientHandler(context: context, serverHostname: name)
    }
}
