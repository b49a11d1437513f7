import Glibc
import HTTP
import Posix
import Synchronization
import TestSupport
import Testing

/// Tunnels to servers that are there, are not trusted, or say nothing.
@Suite struct TLSTunnelTests {
    /// Longer than any test waits: only an event can end it before.
    private static let never = Duration.seconds(3600)

    private final class Failures: Sendable {
        private let list = Mutex<[WebClientError]>([])

        func note(_ error: WebClientError) { list.withLock { $0.append(error) } }
        var all: [WebClientError] { list.withLock(\.self) }
    }

    private let failures = Failures()

    private func tunnel(
        to port: UInt16,
        host: String = "localhost",
        trusting certificate: String? = nil,
        openTimeout: Duration = never
    ) throws -> TLSTunnel {
        let certificates = try certificate.map { try TrustedCertificates(in: $0) } ?? .none
        return try TLSTunnel(
            to: host,
            port: port,
            from: "127.0.0.1",
            TLSTrust(alsoTrusting: certificates),
            openTimeout: openTimeout,
            failed: failures.note
        )
    }

    /// A web server with TLS at 127.0.0.1 alone. `localhost` may be ::1 first, where nobody listens: then the next address is tried.
    private func server(in folder: TemporaryDirectory) throws -> (web: HTTPFixture, certificate: String) {
        let (key, certificate) = (folder.file("key.pem"), folder.file("certificate.pem"))
        try Subprocess.run([
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days",
            "2", "-subj", "/CN=oriel.test", "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out",
            certificate,
        ])
        let large = 4 << 20
        let identity = try TLSIdentity(certificate: certificate, key: key)
        return (try HTTPFixture(tls: { identity }, large: large), certificate)
    }

    @Test func whatIsSaidBeforeTheHandshakeArrives() throws {
        let folder = try TemporaryDirectory()
        let (web, certificate) = try server(in: folder)
        let tunnel = try tunnel(to: web.port, trusting: certificate)
        defer { tunnel.close() }
        // Each speaks at once.
        let clients = try (0..<3).map { _ in try HTTPClient(port: tunnel.port) }
        for client in clients {
            client.send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello")
        }
        for client in clients {
            #expect(try client.response().text == "hello")
            #expect(try client.request("GET", "/large").body.count == 4 << 20)
        }
        #expect(failures.all.isEmpty)
    }

    /// The near end is closed as soon as the handshake fails.
    @Test func aCertificateThatIsNotTrustedClosesTheNearEnd() throws {
        let folder = try TemporaryDirectory()
        let (web, _) = try server(in: folder)
        let tunnel = try tunnel(to: web.port)
        defer { tunnel.close() }
        let client = try HTTPClient(port: tunnel.port)
        client.send("GET /greeting HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(try client.rest().isEmpty)
        let origin = try #require(WebOrigin(parsing: "https://localhost:\(web.port)"))
        #expect(failures.all == [.untrusted(origin)])
    }

    /// The same failure is told once.
    @Test func whereNobodyListensTheNearEndIsClosed() throws {
        let tunnel = try tunnel(to: 1, host: "127.0.0.1")
        defer { tunnel.close() }
        #expect(tunnel.failure == nil)
        for _ in 0..<2 { #expect(try HTTPClient(port: tunnel.port).rest().isEmpty) }
        let refusal = WebClientError.refused(try #require(WebOrigin(parsing: "https://127.0.0.1:1")))
        #expect(failures.all == [refusal] && tunnel.failure == refusal)
    }

    @Test func aHandshakeThatNeverEndsIsGivenUp() throws {
        let silent = try TCPListener()
        let tunnel = try tunnel(to: silent.port, host: "127.0.0.1", openTimeout: .milliseconds(50))
        defer { tunnel.close() }
        let client = try HTTPClient(port: tunnel.port)
        #expect(try client.rest().isEmpty)
        let origin = try #require(WebOrigin(parsing: "https://127.0.0.1:\(silent.port)"))
        #expect(failures.all == [.unreachable(origin, reason: "no answer in time")])
    }

    /// What the near end sends stays in the kernel, which takes some megabytes and no more.
    @Test func nothingIsReadBeforeTheHandshakeIsDone() throws {
        let silent = try TCPListener()
        let tunnel = try tunnel(to: silent.port, host: "127.0.0.1")
        defer { tunnel.close() }
        let client = try HTTPClient(port: tunnel.port)
        let server = try silent.accept()
        let bytes = [UInt8](repeating: 7, count: 1 << 16)
        let limit = 64 << 20
        var (sent, refusals) = (0, 0)
        while sent < limit, refusals < 20 {
            let count = bytes.withUnsafeBytes {
                send(client.descriptor.raw, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
            }
            if count > 0 {
                (sent, refusals) = (sent + count, 0)
            } else {
                refusals += 1
                MonotonicClock.sleep(for: .milliseconds(5))
            }
        }
        #expect(sent < limit)
        withExtendedLifetime(server) {}
    }

    /// A client that gives up is no reason to say that there is no way.
    @Test func whoLeavesBeforeTheHandshakeTakesTheFarEndAlong() throws {
        let silent = try TCPListener()
        let tunnel = try tunnel(to: silent.port, host: "127.0.0.1")
        defer { tunnel.close() }
        var client: HTTPClient? = try HTTPClient(port: tunnel.port)
        let server = try silent.accept()
        client = nil
        // The greeting of TLS comes, and then the end.
        _ = try server.rest()
        #expect(client == nil && failures.all.isEmpty)
    }
}
