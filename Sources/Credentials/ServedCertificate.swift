package import HTTP
import Helpers
import Posix
import Synchronization
import Time

/// The certificate that a web server shows.
package struct ServedCertificate: Sendable {
    /// The certificate at the start.
    package let first: TLSIdentity
    /// Returns the certificate in use. Once a minute it reads the files, for a second at the most.
    package let current: @Sendable () -> TLSIdentity

    /// A certificate that stays as it is.
    init(_ identity: TLSIdentity) {
        first = identity
        current = { identity }
    }

    /// A certificate whose files are read again when a client connects. Call it before the first thread starts, and before files are closed.
    ///
    /// - Parameters:
    ///   - certificate: a PEM file, with the chain.
    ///   - key: a PEM file.
    init(certificate: String, key: String, readerEnded: @escaping @Sendable (NamedFiles.End) -> Void) throws {
        let renewal = Mutex(try CertificateRenewal(certificate: certificate, key: key))
        let files = try NamedFiles([certificate, key], "the certificate", ended: readerEnded)
        first = renewal.withLock(\.identity)
        current = {
            let (identity, news) = renewal.withLock { renewal in
                let read = renewal.takeLook(at: MonotonicClock.now()) ? files.read() : nil
                let news = read.flatMap { renewal.take(certificate: $0[0], key: $0[1]) }
                return (renewal.identity, news)
            }
            switch news {
            case .renewed: Console.note("\(certificate) was renewed: new connections get the new certificate")
            case .unfit(let error): Console.note("\(error); the certificate that was read before stays in use")
            case nil: break
            }
            return identity
        }
    }
}
