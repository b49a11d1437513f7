import Glibc
import HTTP
import Helpers
import Posix
import TestSupport
import Testing

@testable import Credentials

/// The certificate of `--https`, judged by the program of OpenSSL.
@Suite struct OwnCertificateTests {
    private let home: TemporaryDirectory
    private let own: OwnCertificate

    init() throws {
        home = try TemporaryDirectory()
        let path = home.path
        own = try OwnCertificate { $0 == "XDG_STATE_HOME" ? path : nil }
    }

    private func openssl(_ arguments: String...) throws -> String {
        try Subprocess.run(["openssl", "x509", "-in", own.path, "-noout"] + arguments)
    }

    @Test func oneIsMadeAndKept() throws {
        let first = try own.identity()
        #expect(try own.identity().fingerprint == first.fingerprint)
        #expect(own.path == home.file("oriel/https.pem"))
        #expect(try FileDescriptor.open(own.path, O_RDONLY).status().st_mode & 0o777 == 0o600)
        #expect(try openssl("-fingerprint", "-sha256").contains(first.fingerprint))
        #expect(first.names.isEmpty, "links lead to the machine's addresses")
        let text = try openssl("-text")
        for part in [
            "CA:FALSE", "TLS Web Server Authentication", "DNS:localhost", "IP Address:127.0.0.1", "prime256v1",
        ] {
            #expect(text.contains(part), "\(text) lacks \(part)")
        }
        for (host, kind) in [("localhost", "-checkhost"), ("127.0.0.1", "-checkip"), ("::1", "-checkip")] {
            #expect(try openssl(kind, host).contains("does match"))
        }
        // Browsers take no longer ones.
        #expect(try openssl("-checkend", "\(819 * 24 * 3600)").contains("will not expire"))
        #expect(throws: (any Error).self) { try openssl("-checkend", "\(825 * 24 * 3600)") }
    }

    /// A process that runs for a year serves no certificate that has ended.
    @Test func oneThatEndsWithinAYearIsReplaced() throws {
        let first = try own.identity()
        let end = first.expiresAt
        #expect(try own.identity(now: end - 367 * 24 * 3600).fingerprint == first.fingerprint)
        let second = try own.identity(now: end - 365 * 24 * 3600)
        #expect(second.fingerprint != first.fingerprint)
        #expect(try own.identity().fingerprint == second.fingerprint)
    }

    @Test(arguments: ["", "x", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"])
    func oneThatIsDamagedStays(damage: String) throws {
        _ = try own.identity()
        try FileDescriptor.open(own.path, O_WRONLY | O_TRUNC).write(damage)
        let failure = #expect(throws: Failure.self) { try own.identity() }
        #expect(failure?.sentence == "\(own.path) is damaged: remove it, and --https makes another certificate")
        #expect(try FileDescriptor.open(own.path, O_RDONLY).readBytes(1 << 16) == Array(damage.utf8))
    }

    @Test(arguments: [0o640, 0o604] as [mode_t])
    func aKeyThatOthersCanReadIsNotUsed(mode: mode_t) throws {
        _ = try own.identity()
        chmod(own.path, mode)
        let failure = #expect(throws: Failure.self) { try own.identity() }
        #expect(failure?.sentence.hasSuffix("make it a file that only you can read (chmod 600)") ?? false)
    }

    @Test func thereIsASentenceWhereNoneCanBeKept() throws {
        try FileDescriptor.open(home.file("oriel"), O_WRONLY | O_CREAT).write("no folder")
        let failure = #expect(throws: Failure.self) { try own.identity() }
        #expect(failure?.sentence.contains(own.path) ?? false)
        let missing = #expect(throws: StateFolder.Missing.self) { try OwnCertificate { _ in nil } }
        #expect(
            missing?.description
                == "there is no place for the certificate of --https: set HOME or XDG_STATE_HOME"
        )
    }
}
