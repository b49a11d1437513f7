import COpenSSL
import HTTP
import Posix
import Synchronization
import TestSupport
import Testing

/// A client that speaks TLS over a connection, and believes any certificate.
private final class TLSClient {
    private let connection: HTTPClient
    private let context: OpaquePointer
    private let session: OpaquePointer

    init(_ connection: HTTPClient) throws {
        self.connection = connection
        context = SSL_CTX_new(TLS_client_method())
        session = SSL_new(context)
        SSL_set_fd(session, connection.descriptor.raw)
        guard SSL_connect(session) == 1 else { throw BrokenHTTP() }
    }

    deinit {
        SSL_free(session)
        SSL_CTX_free(context)
    }

    /// The SHA-256 of the server's certificate, as pairs of hexadecimal digits.
    var fingerprint: String {
        let certificate = SSL_get1_peer_certificate(session)
        defer { X509_free(certificate) }
        var digest = [UInt8](repeating: 0, count: 32)
        X509_digest(certificate, EVP_sha256(), &digest, nil)
        return digest.map { ($0 < 0x10 ? "0" : "") + String($0, radix: 16, uppercase: true) }.joined(separator: ":")
    }

    func send(_ text: String) throws {
        guard SSL_write(session, text, Int32(text.utf8.count)) > 0 else { throw BrokenHTTP() }
    }

    /// No more will be sent.
    func finish(saysGoodbye: Bool) {
        if saysGoodbye { SSL_shutdown(session) }
        connection.finish()
    }

    /// All that comes until the server says goodbye or hangs up.
    func rest() -> String {
        var all: [UInt8] = []
        var bytes = [UInt8](repeating: 0, count: 16384)
        while case let count = SSL_read(session, &bytes, Int32(bytes.count)), count > 0 { all += bytes[..<Int(count)] }
        return String(decoding: all, as: UTF8.self)
    }
}

@Suite struct TLSTests {
    private let folder: TemporaryDirectory
    private let web: HTTPFixture

    init() throws {
        folder = try TemporaryDirectory()
        let (certificate, key) = try Self.makeCertificate("one", in: folder)
        let identity = try TLSIdentity(certificate: certificate, key: key)
        web = try HTTPFixture(tls: { identity })
    }

    static func makeCertificate(
        _ name: String,
        in folder: TemporaryDirectory
    ) throws -> (certificate: String, key: String) {
        let (key, certificate) = (folder.file("\(name).key"), folder.file("\(name).pem"))
        try Subprocess.run([
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days",
            "2", "-subj", "/CN=oriel.test", "-keyout", key, "-out", certificate,
        ])
        return (certificate, key)
    }

    /// Of files, by what is wrong with them.
    @Test func filesThatAreOfNoUseAreNamed() throws {
        let (one, other) = try (folder.file("one.pem"), Self.makeCertificate("two", in: folder).key)
        let (none, empty) = (folder.file("none"), "/dev/null")
        func sentence(_ certificate: String, _ key: String) throws -> String {
            "\(try #require(throws: HTTPServerError.self) { try TLSIdentity(certificate: certificate, key: key) })"
        }
        let advice = "give PEM files of a certificate and its key"
        let missing = "cannot use \(none) for TLS (No such file or directory): \(advice)"
        #expect(try sentence(none, other) == missing)
        #expect(try sentence(one, none) == missing)
        #expect(try sentence(empty, other) == "cannot use \(empty) for TLS (it holds no certificate): \(advice)")
        for key in [empty, one, other] {
            let reason = "it holds no key of that certificate"
            #expect(try sentence(one, key) == "cannot use \(key) for TLS (\(reason)): \(advice)")
        }
        for (file, reason) in [(none, "No such file or directory"), (empty, "it holds none")] {
            let error = try #require(throws: WebClientError.self) { try TrustedCertificates(in: file) }
            #expect("\(error)" == "cannot read a certificate from \(file) (\(reason)): give a PEM file")
        }
    }

    @Test(arguments: [false, true])
    func whoHasSaidAllStillGetsTheAnswer(saysGoodbye: Bool) throws {
        for (request, status) in [
            ("GET /greeting HTTP/1.1\r\nHost: x\r\n\r\n", 200),
            ("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello", 201),
        ] {
            let client = try TLSClient(web.connect())
            try client.send(request)
            client.finish(saysGoodbye: saysGoodbye)
            #expect(client.rest().hasPrefix("HTTP/1.1 \(status) "))
        }
    }

    /// What is cut off may be what an attacker cut off.
    @Test func whoHasNotSaidAllGetsNoAnswer() throws {
        let client = try TLSClient(web.connect())
        try client.send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nv=0")
        client.finish(saysGoodbye: false)
        #expect(client.rest().isEmpty)
    }

    @Test func connectionsAreShownTheCertificateOfTheirTime() throws {
        let (first, second) = try (Self.makeCertificate("two", in: folder), Self.makeCertificate("three", in: folder))
        let identities = try [first, second].map { try TLSIdentity(certificate: $0.certificate, key: $0.key) }
        let isSecond = HTTPFixture.Flag()
        isSecond.value.store(false, ordering: .relaxed)
        let web = try HTTPFixture(tls: { identities[isSecond.value.load(ordering: .relaxed) ? 1 : 0] })
        let early = try TLSClient(web.connect())
        isSecond.value.store(true, ordering: .relaxed)
        #expect(try TLSClient(web.connect()).fingerprint == identities[1].fingerprint)
        #expect(early.fingerprint == identities[0].fingerprint)
        try early.send("GET /greeting HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        #expect(early.rest().hasPrefix("HTTP/1.1 200 "))
    }
}
