import HTTP
import NIOHTTP1
import Synchronization
import TestSupport
import Testing

/// The client of HTTP and WebSockets with our server, and with servers that are none.
@Suite struct WebClientTests {
    private final class Fixture: Sendable {
        let server = HTTPServer(limits: HTTPLimits { $0.bodySize = 70_000 })
        let listener: HTTPServer.Listener
        let client: WebClient

        init(tls: TLSIdentity? = nil, trusting file: String? = nil) throws {
            client = WebClient(
                try TLSTrust(alsoTrusting: file.map { try TrustedCertificates(in: $0) } ?? .none),
                bodyLimit: 50_000
            )
            listener = try server.listen(
                on: ListenAddress(host: "127.0.0.1", port: 0),
                tls: tls.map { identity in { @Sendable in identity } },
                takeSocket: { request in
                    guard request.path == "/socket" else { return nil }
                    let socket = Box<WebSocket?>(nil)
                    return WebSocketOwner(
                        opened: { opened in
                            socket.value.withLock { $0 = opened }
                            // It may come together with the response.
                            opened.send(.text(Array("hello".utf8)))
                        },
                        received: { message in
                            let socket = socket.value.withLock(\.self)
                            if message == .text(Array("bye".utf8)) { socket?.close() } else { socket?.send(message) }
                        },
                        closed: {}
                    )
                },
                respond: { request, completion in
                    switch request.path {
                    case "/large": completion(HTTPResponse(.ok, body: [UInt8](repeating: 7, count: 50_001)))
                    // Never, or when the server ends.
                    case "/silent": request.disconnection.notify { completion(HTTPResponse(.noContent)) }
                    case "/moved": completion(HTTPResponse(.found, ["Location": "/elsewhere"]))
                    default:
                        let type = request.headers.first(name: "Content-Type") ?? ""
                        let text = "\(request.method) \(request.path)?\(request.query) \(type) "
                        completion(HTTPResponse(.created, ["X-Test": "1"], body: Array(text.utf8) + request.body))
                    }
                }
            )
        }

        deinit {
            client.close()
            listener.close()
            server.close()
        }

        func origin(_ scheme: String = "http", host: String = "127.0.0.1") -> WebOrigin {
            WebOrigin(parsing: "\(scheme)://\(host):\(listener.port)")!
        }

        func send(
            _ method: HTTPMethod,
            _ target: String,
            to origin: WebOrigin? = nil,
            _ headers: HTTPHeaders = [:],
            body: [UInt8] = [],
            timeout: Duration = .seconds(20)
        ) throws -> Result<WebClient.Response, WebClientError> {
            let result = Box<Result<WebClient.Response, WebClientError>?>(nil)
            let place = origin ?? self.origin()
            client.send(method, target, of: place, headers, body: body, timeout: timeout) { answer in
                result.value.withLock { $0 = answer }
            }
            try wait(until: "there is an answer") { result.value.withLock { $0 != nil } }
            return result.value.withLock { $0! }
        }
    }

    private final class Box<Value>: Sendable {
        let value: Mutex<Value>
        init(_ value: sending Value) { self.value = Mutex(value) }
    }

    @Test func requestsAreAnswered() throws {
        let fixture = try Fixture()
        let get = try fixture.send(.GET, "/a%20b?c=d").get()
        #expect(get.status == 201)
        #expect(get.headers.first(name: "x-test") == "1")
        #expect(String(decoding: get.body, as: UTF8.self) == "GET /a%20b?c=d  ")
        let body = [UInt8](repeating: 9, count: 40_000)
        let post = try fixture.send(.POST, "/p", ["Content-Type": "text/x"], body: body).get()
        #expect(post.body == Array("POST /p? text/x ".utf8) + body)
        // An empty body has a length too.
        #expect(try fixture.send(.PATCH, "/p").get().status == 201)
        // Redirects are for whoever knows where the request may go.
        let moved = try fixture.send(.DELETE, "/moved").get()
        #expect(moved.status == 302 && moved.headers.first(name: "location") == "/elsewhere")
    }

    @Test func whatIsNoAnswerIsTold() throws {
        let fixture = try Fixture()
        let large = try fixture.send(.GET, "/large")
        #expect(throws: WebClientError.tooLarge(fixture.origin())) { try large.get() }
        let silent = try fixture.send(.GET, "/silent", timeout: .milliseconds(50))
        #expect(throws: WebClientError.silent(fixture.origin())) { try silent.get() }
        let nobody = WebOrigin(parsing: "http://127.0.0.1:1")!
        let refused = try fixture.send(.GET, "/", to: nobody)
        #expect(throws: WebClientError.refused(nobody)) { try refused.get() }
        let nameless = WebOrigin(parsing: "http://nowhere.invalid")!
        let unknown = try fixture.send(.GET, "/", to: nameless)
        #expect(throws: WebClientError.unreachable(nameless, reason: "its name has no address")) { try unknown.get() }
        // TLS where there is none.
        let secure = fixture.origin("https")
        let plain = try fixture.send(.GET, "/", to: secure)
        #expect(throws: WebClientError.broken(secure, reason: "no TLS: wrong version number")) { try plain.get() }
    }

    /// The test is the server, of one connection.
    @Test(
        arguments: [
            ("rubbish\r\n\r\n", "the answer is not HTTP"),
            ("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort", "the answer is not HTTP"),
            ("HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", "the answer is not HTTP"),
            ("", "the other side closed it"),
        ]
    )
    func malformedResponsesAreTold(response: String, reason: String) throws {
        let fixture = try Fixture()
        let server = try RawServer(answering: response)
        let origin = WebOrigin(parsing: "http://127.0.0.1:\(server.port)")!
        let result = try fixture.send(.GET, "/", to: origin)
        #expect(throws: WebClientError.broken(origin, reason: reason)) { try result.get() }
    }

    /// Whatever the request's own time.
    @Test func aHandshakeThatNeverEndsIsGivenUp() throws {
        let server = try TCPListener()
        let client = WebClient(try TLSTrust(), connectTimeout: .milliseconds(50))
        defer { client.close() }
        let origin = try #require(WebOrigin(parsing: "https://127.0.0.1:\(server.port)"))
        let error = Box<WebClientError?>(nil)
        client.send(.GET, "/", of: origin, timeout: .seconds(3600)) { answer in
            if case .failure(let failure) = answer { error.value.withLock { $0 = failure } }
        }
        try wait(until: "it fails") { error.value.withLock { $0 != nil } }
        #expect(error.value.withLock(\.self) == .unreachable(origin, reason: "no answer in time"))
    }

    @Test func aRequestThatIsCancelledIsNotAnswered() throws {
        let fixture = try Fixture()
        let calls = Box(0)
        let pending = fixture.client.send(.GET, "/silent", of: fixture.origin(), timeout: .seconds(20)) { _ in
            calls.value.withLock { $0 += 1 }
        }
        pending.cancel()
        #expect(try fixture.send(.GET, "/").get().status == 201)
        #expect(calls.value.withLock { $0 } == 0)
    }

    // MARK: - WebSockets

    private struct Notes {
        var socket: WebSocket?
        var received: [WebSocketMessage] = []
        var isClosed = false
        var failure: Result<Int, WebClientError>?
    }

    private func open(_ target: String, by fixture: Fixture, at origin: WebOrigin? = nil) -> Box<Notes> {
        let notes = Box(Notes())
        fixture.client.openSocket(
            target,
            of: origin ?? fixture.origin(),
            owner: WebSocketOwner(
                opened: { socket in notes.value.withLock { $0.socket = socket } },
                received: { message in notes.value.withLock { $0.received.append(message) } },
                closed: { notes.value.withLock { $0.isClosed = true } }
            )
        ) { failure in notes.value.withLock { $0.failure = failure } }
        return notes
    }

    @Test func aWebSocketCarriesMessagesBothWays() throws {
        let fixture = try Fixture()
        let notes = open("/socket?a=b", by: fixture)
        try wait(until: "it is open") { notes.value.withLock { $0.socket != nil } }
        let messages: [WebSocketMessage] = [
            .text(Array("again".utf8)), .binary([]), .binary([UInt8](repeating: 3, count: 49_000)),
        ]
        for message in messages { notes.value.withLock { $0.socket }?.send(message) }
        try wait(until: "all are back") { notes.value.withLock { $0.received.count } == 4 }
        #expect(notes.value.withLock { $0.received } == [.text(Array("hello".utf8))] + messages)
        notes.value.withLock { $0.socket }?.send(.text(Array("bye".utf8)))
        try wait(until: "it is closed") { notes.value.withLock { $0.isClosed } }
        #expect(notes.value.withLock { $0.failure == nil })
    }

    @Test func aWebSocketThatIsRefusedIsTold() throws {
        let fixture = try Fixture()
        let elsewhere = open("/elsewhere", by: fixture)
        try wait(until: "it fails") { elsewhere.value.withLock { $0.failure != nil } }
        #expect(try elsewhere.value.withLock { try $0.failure!.get() } == 201)
        let nobody = open("/", by: fixture, at: WebOrigin(parsing: "http://127.0.0.1:1")!)
        try wait(until: "it fails") { nobody.value.withLock { $0.failure != nil } }
        #expect(throws: WebClientError.self) { try nobody.value.withLock { try $0.failure!.get() } }
        #expect(elsewhere.value.withLock { $0.socket == nil && !$0.isClosed })
    }

    // MARK: - TLS

    /// A key and a certificate of `localhost` by itself.
    private static func certify(in folder: TemporaryDirectory) throws -> (key: String, certificate: String) {
        let (key, certificate) = (folder.file("key.pem"), folder.file("certificate.pem"))
        try Subprocess.run([
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days",
            "2",
            "-subj", "/CN=oriel.test", "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", certificate,
        ])
        return (key, certificate)
    }

    /// Those from addresses that the machine still has stay.
    @Test(arguments: [false, true]) func connectionsAreCut(isSecure: Bool) throws {
        let folder = try TemporaryDirectory()
        let (key, certificate) = try Self.certify(in: folder)
        let identity = isSecure ? try TLSIdentity(certificate: certificate, key: key) : nil
        let fixture = try Fixture(tls: identity, trusting: isSecure ? certificate : nil)
        let origin = fixture.origin(isSecure ? "https" : "http", host: "localhost")
        for cut in [{ $0.cutConnections(exceptFrom: ["192.0.2.1"]) }, { $0.cutConnections() }] as [(WebClient) -> Void]
        {
            let notes = open("/socket", by: fixture, at: origin)
            try wait(until: "it is open") { notes.value.withLock { $0.socket != nil } }
            fixture.client.cutConnections(exceptFrom: ["127.0.0.1", "::1"])
            #expect(try fixture.send(.GET, "/", to: origin).get().status == 201)
            #expect(notes.value.withLock { !$0.isClosed })
            cut(fixture.client)
            try wait(until: "it is closed") { notes.value.withLock(\.isClosed) }
        }
    }

    @Test func aCertificateMustBeTrusted() throws {
        let folder = try TemporaryDirectory()
        let (key, certificate) = try Self.certify(in: folder)
        let identity = try TLSIdentity(certificate: certificate, key: key)
        let strange = try Fixture(tls: identity)
        let origin = strange.origin("https", host: "localhost")
        let refused = try strange.send(.GET, "/", to: origin)
        #expect(throws: WebClientError.untrusted(origin)) { try refused.get() }
        let known = try Fixture(tls: identity, trusting: certificate)
        #expect(try known.send(.GET, "/", to: known.origin("https", host: "localhost")).get().status == 201)
        let notes = open("/socket", by: known, at: known.origin("https", host: "localhost"))
        try wait(until: "it is open") { notes.value.withLock { $0.socket != nil } }
        // It is for another host.
        let other = known.origin("https")
        let misnamed = try known.send(.GET, "/", to: other)
        #expect(throws: WebClientError.untrusted(other)) { try misnamed.get() }
        #expect(throws: WebClientError.self) { try TrustedCertificates(in: "/nowhere") }
        #expect(throws: WebClientError.self) { try TrustedCertificates(in: key) }
    }
}

/// Takes one connection, reads a request, sends some bytes and closes.
private final class RawServer {
    let port: UInt16
    private let process: Subprocess

    init(answering response: String) throws {
        let script = """
            import socket, sys
            server = socket.create_server(("127.0.0.1", 0))
            print(server.getsockname()[1], flush=True)
            connection, _ = server.accept()
            connection.recv(65536)
            connection.sendall(sys.argv[1].encode())
            connection.close()
            """
        let process = try Subprocess(["/usr/bin/python3", "-c", script, response])
        try wait(until: "the server listens") { process.output.contains("\n") }
        port = UInt16(process.output.prefix { $0 != "\n" })!
        self.process = process
    }

    deinit { process.stop() }
}
