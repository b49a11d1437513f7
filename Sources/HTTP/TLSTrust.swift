import NIOCore
import NIOSSL
import Posix

/// Certificates to trust besides those of the system, such as a self-signed one.
package struct TrustedCertificates: Sendable {
    package static let none = TrustedCertificates()

    let file: String?
    let list: [NIOSSLCertificate]

    private init() { (file, list) = (nil, []) }

    /// - Parameter file: as PEM.
    /// - Throws: `trust`.
    package init(in file: String) throws(WebClientError) {
        self.file = file
        do { list = try NIOSSLCertificate.fromPEMFile(file) } catch {
            throw .trust(file: file, reason: reasonNotToOpen(file) ?? "it holds none")
        }
    }
}

package struct TLSTrust: Sendable {
    package enum Application: String, Sendable {
        case http = "http/1.1"
        /// RFC 7443.
        case turn = "stun.turn"
    }

    let context: NIOSSLContext

    /// Reads the system's store, which takes some milliseconds.
    ///
    /// - Parameter application: the protocol inside of TLS (RFC 7301).
    /// - Throws: `trust`.
    package init(
        alsoTrusting certificates: TrustedCertificates = .none,
        toSpeak application: Application = .http
    ) throws(WebClientError) {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        configuration.applicationProtocols = [application.rawValue]
        configuration.shutdownTimeout = .milliseconds(200)
        configuration.additionalTrustRoots = [.certificates(certificates.list)]
        if let context = try? NIOSSLContext(configuration: configuration) {
            self.context = context
            return
        }
        // The system has no store.
        configuration.trustRoots = .certificates(certificates.list)
        configuration.additionalTrustRoots = []
        do { context = try NIOSSLContext(configuration: configuration) } catch {
            throw .trust(file: certificates.file ?? "the system's store", reason: reason(error))
        }
    }

    /// Speaks TLS to a server, and checks its certificate.
    func handler(for server: WebOrigin) throws -> NIOSSLClientHandler {
        // An address is compared with those of the certificate. It is not sent as a server name (RFC 6066 §3).
        let name = IPAddress(parsing: server.host) == nil ? server.host : nil
        return try NIOSSLClientHandler(context: context, serverHostname: name)
    }
}
