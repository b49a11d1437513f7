import Glibc
import HTTP
import Posix
import TestSupport
import Testing
import Time

/// Certificates by OpenSSL, whose files are renewed.
@Suite struct CertificateRenewalTests {
    private struct Pair {
        let certificate, key: [UInt8]
        let identity: TLSIdentity
    }

    private let pairs: [Pair]
    private let paths: (certificate: String, key: String)
    private var renewal: CertificateRenewal

    init() throws {
        let folder = try TemporaryDirectory()
        let files = try (1...2).map { try TLSTests.makeCertificate("\($0)", in: folder) }
        func bytes(_ path: String) throws -> [UInt8] { try FileDescriptor.open(path, O_RDONLY).readBytes(100_000) }
        pairs = try files.map { file in
            Pair(
                certificate: try bytes(file.certificate),
                key: try bytes(file.key),
                identity: try TLSIdentity(certificate: file.certificate, key: file.key)
            )
        }
        paths = files[0]
        renewal = try CertificateRenewal(certificate: paths.certificate, key: paths.key)
    }

    /// The sentence about what is of no use; empty for a certificate that was renewed, and nil for no news.
    private mutating func take(_ certificate: [UInt8]?, _ key: [UInt8]?) -> String? {
        switch renewal.take(certificate: certificate, key: key) {
        case .renewed: ""
        case .unfit(let error): "\(error)"
        case nil: nil
        }
    }

    @Test mutating func filesAreLookedAtOnceAMinuteAtTheMost() {
        var looks: [Int] = []
        for tick in 0..<1500 where renewal.takeLook(at: Instant.start + .milliseconds(100) * tick) {
            looks.append(tick)
        }
        #expect(looks == [0, 600, 1200])
    }

    @Test mutating func aPairThatWasRenewedIsUsed() {
        #expect(take(pairs[0].certificate, pairs[0].key) == nil)
        #expect(renewal.identity.fingerprint == pairs[0].identity.fingerprint)
        #expect(take(pairs[1].certificate, pairs[1].key) == "")
        #expect(renewal.identity.fingerprint == pairs[1].identity.fingerprint)
        #expect(take(pairs[1].certificate, pairs[1].key) == nil)
        #expect(take(pairs[0].certificate, pairs[0].key) == "")
    }

    /// As while only one of two files was written.
    @Test mutating func aPairThatDoesNotFitIsToldOnce() throws {
        let unfit = "cannot use \(paths.key) for TLS (it holds no key of that certificate)"
        #expect(try #require(take(pairs[1].certificate, pairs[0].key)).hasPrefix(unfit))
        #expect(take(pairs[1].certificate, pairs[0].key) == nil)
        #expect(renewal.identity.fingerprint == pairs[0].identity.fingerprint)
        #expect(take(pairs[1].certificate, pairs[1].key) == "")
        #expect(try #require(take(pairs[1].certificate, pairs[0].key)).hasPrefix(unfit))
        #expect(renewal.identity.fingerprint == pairs[1].identity.fingerprint)
    }

    @Test mutating func whatCannotBeReadIsToldByItsFile() throws {
        for (certificate, key, file, reason) in [
            (nil, pairs[0].key, paths.certificate, "it cannot be read again"),
            (pairs[0].certificate, nil, paths.key, "it cannot be read again"),
            ([], pairs[0].key, paths.certificate, "it holds no certificate"),
            (Array("rubbish".utf8), pairs[0].key, paths.certificate, "it holds no certificate"),
            (pairs[0].certificate, [], paths.key, "it holds no key of that certificate"),
        ] as [([UInt8]?, [UInt8]?, String, String)] {
            #expect(try #require(take(certificate, key)).hasPrefix("cannot use \(file) for TLS (\(reason)): give PEM"))
            #expect(take(certificate, key) == nil)
        }
        // What is in use already is no news.
        #expect(take(pairs[0].certificate, pairs[0].key) == nil)
    }
}
