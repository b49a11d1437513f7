import COpenSSL
import HTTP
import Posix
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
    private let web: HTTPFixture

    init() throws {
        let folder = try TemporaryDirectory()
        let (key, certificate) = (folder.file("key.pem"), folder.file("certificate.pem"))
        try Subprocess.run([
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days",
            "2", "-subj", "/CN=oriel.test", "-keyout", key, "-out", certificate,
        ])
        web = try HTTPFixture(tls: TLSIdentity(certificate: certificate, key: key))
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
}
