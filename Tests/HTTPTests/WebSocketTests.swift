import HTTP
import NIOHTTP1
import Posix
import Synchronization
import TestSupport
import Testing

@Suite struct WebSocketTests {
    /// A server whose WebSockets at `/socket` send back what they get, and note what happens.
    private final class Fixture: Sendable {
        struct Notes {
            var sockets: [WebSocket] = []
            var received: [WebSocketMessage] = []
            var closed = 0
        }

        let server: HTTPServer
        let listener: HTTPServer.Listener
        let notes: Shared<Notes>

        init(bodySize: Int = 70_000, unread: Int = 4 << 20) throws {
            let notes = Shared(Notes())
            self.notes = notes
            server = HTTPServer(limits: HTTPServer.Limits(bodySize: bodySize, unread: unread))
            listener = try server.listen(
                on: ListenAddress(host: "127.0.0.1", port: 0),
                takeSocket: { request in
                    guard request.path == "/socket" else { return nil }
                    return WebSocketOwner(
                        opened: { socket in notes.value.withLock { $0.sockets.append(socket) } },
                        received: { message in
                            let socket = notes.value.withLock { notes in
                                notes.received.append(message)
                                return notes.sockets.last
                            }
                            socket?.send(message)
                        },
                        closed: { notes.value.withLock { $0.closed += 1 } }
                    )
                },
                respond: { request, completion in completion(.sentence(.ok, "\(request.path) \(request.query)")) }
            )
        }

        deinit {
            listener.close()
            server.close()
        }

        func connect(from network: String = "127.0.0.1") throws -> HTTPClient {
            try HTTPClient(port: listener.port, from: network)
        }

        /// A WebSocket that is open.
        func open(from network: String = "127.0.0.1") throws -> HTTPClient {
            let before = notes.value.withLock { $0.sockets.count }
            let client = try connect(from: network)
            client.send(handshake)
            _ = try client.rest(through: "\r\n\r\n")
            try wait(until: "the owner knows") { notes.value.withLock { $0.sockets.count } > before }
            return client
        }

        var closed: Int { notes.value.withLock { $0.closed } }
    }

    private final class Shared<Value>: Sendable {
        let value: Mutex<Value>
        init(_ value: sending Value) { self.value = Mutex(value) }
    }

    /// The request of RFC 6455 §1.2.
    private static let handshake = """
        GET /socket?a=b HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
        Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n
        """

    /// A masked frame (RFC 6455 §5.2), with the mask of the examples in §5.7.
    private func frame(_ opcode: UInt8, _ payload: [UInt8], isLast: Bool = true) -> [UInt8] {
        let mask: [UInt8] = [0x37, 0xFA, 0x21, 0x3D]
        var bytes = [opcode | (isLast ? 0x80 : 0)]
        if payload.count < 126 {
            bytes.append(0x80 | UInt8(payload.count))
        } else {
            bytes += [0x80 | 126, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF)]
        }
        return bytes + mask + payload.enumerated().map { $1 ^ mask[$0 % 4] }
    }

    private func handshakeResponse(_ web: Fixture) throws -> String {
        let client = try web.connect()
        client.send(Self.handshake)
        return String(decoding: try client.rest(through: "\r\n\r\n"), as: UTF8.self)
    }

    @Test func theHandshakeOfTheRFC() throws {
        let response = try handshakeResponse(Fixture())
        #expect(response.hasPrefix("HTTP/1.1 101 "))
        #expect(response.lowercased().contains("sec-websocket-accept: s3pplmbitxaq9kygzzhzrbk+xoo="))
    }

    @Test func messagesPassWhole() throws {
        let web = try Fixture()
        let client = try web.open()
        // "Hello" (§5.7), masked and in one frame; unmasked back.
        let hello: [UInt8] = [0x81, 0x85, 0x37, 0xFA, 0x21, 0x3D, 0x7F, 0x9F, 0x4D, 0x51, 0x58]
        #expect(frame(1, Array("Hello".utf8)) == hello)
        client.send(hello)
        #expect(try client.read(7) == [0x81, 0x05] + Array("Hello".utf8))
        // In fragments, with a ping between them.
        client.send(frame(2, [1, 2], isLast: false) + frame(9, [7]) + frame(0, [3], isLast: false) + frame(0, [4]))
        #expect(try client.read(3) == [0x8A, 0x01, 7])
        #expect(try client.read(6) == [0x82, 0x04, 1, 2, 3, 4])
        // As long as the limit allows.
        let long = [UInt8](repeating: 5, count: 60_000)
        client.send(frame(2, long))
        #expect(try client.read(4) == [0x82, 126, 0xEA, 0x60])
        #expect(try client.read(60_000) == long)
        #expect(web.notes.value.withLock { $0.received.count } == 3)
    }

    @Test func bothEndsCloseInTurn() throws {
        let web = try Fixture()
        var client = try web.open()
        client.send(frame(8, [0x03, 0xE8] + Array("bye".utf8)))
        #expect(try client.read(4) == [0x88, 0x02, 0x03, 0xE8])
        #expect(try client.rest().isEmpty)
        try wait(until: "the owner knows") { web.closed == 1 }

        client = try web.open()
        web.notes.value.withLock { $0.sockets.last }?.close()
        #expect(try client.read(4) == [0x88, 0x02, 0x03, 0xE8])
        client.send(frame(8, [0x03, 0xE8]))
        #expect(try client.rest().isEmpty)
        try wait(until: "the owner knows") { web.closed == 2 }

        client = try web.open()
        client.finish()
        try wait(until: "the owner knows") { web.closed == 3 }
    }

    /// Each is answered with a close frame of that code, and the owner gets nothing of it.
    @Test(arguments: [
        // Not masked; reserved bits; a continuation of nothing; a message within a message; no opcode.
        (bytes: [0x81, 0x01, 0x61] as [UInt8], code: 1002), ([0xC1, 0x80, 0, 0, 0, 0], 1002),
        ([0x80, 0x80, 0, 0, 0, 0], 1002), ([0x01, 0x80, 0, 0, 0, 0, 0x81, 0x80, 0, 0, 0, 0], 1002),
        ([0x83, 0x80, 0, 0, 0, 0], 1002),
        // A control frame that is long or a fragment.
        ([0x89, 0xFE, 0, 126, 0, 0, 0, 0] + [UInt8](repeating: 0, count: 126), 1002), ([0x09, 0x80, 0, 0, 0, 0], 1002),
        // Text that is not UTF-8.
        ([0x81, 0x81, 0, 0, 0, 0, 0xFF], 1007),
        // Longer than the limit.
        ([0x82, 0xFF, 0, 0, 0, 0, 0, 1, 0x11, 0x71, 0, 0, 0, 0], 1009),
    ])
    func whatIsOutOfOrderEndsIt(bytes: [UInt8], code: Int) throws {
        let web = try Fixture()
        let client = try web.open()
        client.send(bytes)
        #expect(try client.read(4) == [0x88, 0x02, UInt8(code >> 8), UInt8(code & 0xFF)])
        client.send(frame(8, []))
        #expect(try client.rest().isEmpty)
        try wait(until: "the owner knows") { web.closed == 1 }
        #expect(web.notes.value.withLock { $0.received.isEmpty })
    }

    @Test func fragmentsTogetherAreLimited() throws {
        let web = try Fixture(bodySize: 1000)
        let client = try web.open()
        client.send(frame(2, [UInt8](repeating: 0, count: 600), isLast: false))
        client.send(frame(0, [UInt8](repeating: 0, count: 600)))
        #expect(try client.read(4) == [0x88, 0x02, 0x03, 0xF1])
    }

    /// Requests that are not taken are answered as any other, and so are those after which none came.
    @Test func otherRequestsAreAnswered() throws {
        let web = try Fixture()
        let client = try web.connect()
        client.send(Self.handshake.replacing("/socket?a=b", with: "/other?c=%20d"))
        #expect(String(decoding: try client.response().body, as: UTF8.self) == "/other c=%20d\n")
        let plain = try web.connect()
        for _ in 0..<2 {
            plain.send("GET /socket HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(String(decoding: try plain.response().body, as: UTF8.self) == "/socket \n")
        }
        let incomplete = try web.connect()
        incomplete.send(Self.handshake.replacing("Sec-WebSocket-Version: 13\r\n", with: ""))
        #expect(try incomplete.response().status != 101)
    }

    /// Whoever takes nothing of what is sent loses the connection, and costs no memory.
    @Test func whoDoesNotReadIsCutOff() throws {
        let web = try Fixture()
        let client = try web.open()
        let socket = web.notes.value.withLock { $0.sockets[0] }
        try wait(until: "it is cut off") {
            socket.send(.binary([UInt8](repeating: 0, count: 60_000)))
            return web.closed == 1
        }
        withExtendedLifetime(client) {}
    }

    /// What one may leave unread, all together may not: those who read stay.
    @Test func allTogetherLeaveLittleUnread() throws {
        let web = try Fixture(unread: 200_000)
        let idle = try web.open(from: "127.0.0.2")
        let other = try web.open(from: "127.0.0.3")
        let socket = web.notes.value.withLock { $0.sockets[0] }
        var sent = 0
        while web.closed == 0 {
            socket.send(.binary([UInt8](repeating: 0, count: 60_000)))
            sent += 60_000
            // It is served after that.
            other.send(frame(2, [1]))
            try #require(try other.read(3) == [0x82, 0x01, 1])
        }
        // What the kernels hold, and less than one alone may leave.
        #expect(sent < 1_900_000)
        #expect(web.closed == 1)
        withExtendedLifetime(idle) {}
    }

    /// Before the time is over that it has to answer.
    @Test func whoSendsOnAfterTheGoodbyeIsCutOff() throws {
        let web = try Fixture()
        let client = try web.open()
        web.notes.value.withLock { $0.sockets.last }?.close()
        #expect(try client.read(4) == [0x88, 0x02, 0x03, 0xE8])
        let bytes = frame(2, [UInt8](repeating: 0, count: 60_000))
        var sent = 0
        while web.closed == 0, sent < 24 << 20 {
            client.send(bytes)
            sent += bytes.count
        }
        // The kernels hold up to ten megabytes of it.
        #expect(sent < 16 << 20)
        #expect(web.notes.value.withLock { $0.received.isEmpty })
    }

    /// A client that does not wait for its response any more.
    @Test func departuresAreTold() throws {
        let gone = Shared(0)
        let server = HTTPServer()
        defer { server.close() }
        let completions = Shared<[@Sendable (HTTPResponse) -> Void]>([])
        let listener = try server.listen(on: ListenAddress(host: "127.0.0.1", port: 0)) { request, completion in
            completions.value.withLock { $0.append(completion) }
            request.departure.notify { gone.value.withLock { $0 += 1 } }
        }
        defer { listener.close() }
        func ask() throws -> HTTPClient {
            let client = try HTTPClient(port: listener.port)
            let before = completions.value.withLock { $0.count }
            client.send("GET /held HTTP/1.1\r\nHost: x\r\n\r\n")
            try wait(until: "it is held") { completions.value.withLock { $0.count } > before }
            return client
        }
        let first = try ask()
        first.finish()
        try wait(until: "the first is gone") { gone.value.withLock { $0 } == 1 }
        var second: HTTPClient? = try ask()
        second = nil
        try wait(until: "the second is gone") { gone.value.withLock { $0 } == 2 }
        #expect(second == nil)
        let third = try ask()
        completions.value.withLock { $0.last }?(.sentence(.ok, "there"))
        #expect(try third.response().status == 200)
        third.finish()
        for completion in completions.value.withLock({ $0.dropLast() }) { completion(.sentence(.ok, "late")) }
        #expect(gone.value.withLock { $0 } == 2)
    }
}
