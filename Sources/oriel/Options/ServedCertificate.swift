import HTTP
import Helpers
import Posix
import Synchronization
import Time

/// The certificate that a web server shows.
struct ServedCertificate: Sendable {
    /// The certificate at the start.
    let first: TLSIdentity
    /// Returns the certificate in use. Once a minute it reads the files, for a second at the most.
    let current: @Sendable () -> TLSIdentity

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
    ///   - readerEnded: is called once if the files cannot be looked at any more.
    init(certificate: String, key: String, readerEnded: @escaping @Sendable (NamedFiles.End) -> Void) throws {
        let renewed = try RenewedCertificate(certificate: certificate, key: key, readerEnded: readerEnded)
        first = renewed.first
        current = { renewed.current() }
    }
}

private final class RenewedCertificate: Sendable {
    let first: TLSIdentity
    private let path: String
    private let files: NamedFiles
    private let state: Mutex<CertificateRenewal>

    init(certificate: String, key: String, readerEnded: @escaping @Sendable (NamedFiles.End) -> Void) throws {
        let renewal = try CertificateRenewal(certificate: certificate, key: key)
        first = renewal.identity
        path = certificate
        files = try NamedFiles.open([certificate, key], "the certificate", ended: readerEnded)
        state = Mutex(renewal)
    }

    func current() -> TLSIdentity {
        let (identity, news) = state.withLock { state in
            var news: CertificateRenewal.News?
            if state.takeLook(at: MonotonicClock.now()), let read = files.read() {
                news = state.take(certificate: read[0], key: read[1])
            }
            return (state.identity, news)
        }
        switch news {
        case .renewed: Console.note("\(path) was renewed: new connections get the new certificate")
        case .unfit(let error): Console.note("\(error); the certificate that was read before stays in use")
        case nil: break
        }
        return identity
    }
}
