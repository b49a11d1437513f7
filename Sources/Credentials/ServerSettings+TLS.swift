package import Configuration
package import HTTP
package import Helpers
import Posix

extension ServerSettings {
    /// The certificate in use; nil for HTTP. Tells the fingerprint of one that browsers will ask about. Call it before the first thread
    /// starts, and before files are closed.
    package func tls(
        readerEnded: @escaping @Sendable (NamedFiles.End) -> Void = { Console.note($0.sentence) }
    ) throws -> ServedCertificate? {
        if makesCertificate {
            let own = try OwnCertificate().identity()
            Console.note("browsers ask whether to trust the certificate with this SHA-256: \(own.fingerprint)")
            return ServedCertificate(own)
        }
        guard let certificate, let key else { return nil }
        return try ServedCertificate(certificate: certificate, key: key, readerEnded: readerEnded)
    }

    /// The links to the server: to the names of the certificate, which browsers compare, or else to the host of `--listen`, or
    /// else to the addresses of this machine.
    package func links(port: UInt16, tls: TLSIdentity?) -> [String] {
        var hosts = localAddresses().filter { listen.host != "0.0.0.0" || !$0.isIPv6 }.map(\.host)
        if let host = listen.host, !["0.0.0.0", "::"].contains(host) { hosts = [host] }
        if hosts.isEmpty { hosts = ["localhost"] }
        if let tls, !tls.names.isEmpty { hosts = tls.names }
        return hosts.map { "\(tls == nil ? "http" : "https")://\(urlHost($0)):\(port)/" }
    }
}
