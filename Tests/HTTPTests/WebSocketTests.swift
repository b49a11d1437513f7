import HTTP
import NIOHTTP1
import Posix
import Synchronization
import TestSupport
import Testing

@Suite struct WebSocketTests {
    private func handshakeResponse(_ web: WebSocketFixture) throws -> String {
        let client = try web.connect()
        client.send(WebSocketFixture.handshake)
        return String(decoding: try client.rest(through: "\r\n\r\n"), as: UTF8.self)
    }

    @Test func theHandshakeOfTheRFC() throws {
        let response = try handshakeResponse(WebSocketFixture())
        #expect(response.hasPrefix("HTTP/1.1 101 "))
        #expect(response.lowercased().contains("sec-websocket-accept: s3pplmbitxaq9kygzzhzrbk+xoo="))
    }

    @Test func messagesPassWhole() throws {
        let web = try WebSocketFixture()
        let client = try web.open()
        // "Hello" (§5.7), masked and in one frame; unmasked back.
        let hello: [UInt8] = [0x81, 0x85, 0x37, 0xFA, 0x21, 0x3D, 0x7F, 0x9F, 0x4D, 0x51, 0x58]
        #expect(maskedFrame(1, Array("Hello".utf8)) == hello)
        client.send(hello)
        #expect(try client.read(7) == [0x81, 0x05] + Array("Hello".utf8))
        // In fragments, with a ping between them.
        client.send(
            maskedFrame(2, [1, 2], isLast: false) + maskedFrame(9, [7]) + maskedFrame(0, [3], isLast: false)
                + maskedFrame(0, [4])
        )
        #expect(try client.read(3) == [0x8A, 0x01, 7])
        #expect(try client.read(6) == [0x82, 0x04, 1, 2, 3, 4])
        // As long as the limit allows.
        let long = [UInt8](repeating: 5, count: 60_000)
        client.send(maskedFrame(2, long))
        #expect(try client.read(4) == [0x82, 126, 0xEA, 0x60])
        #expect(try client.read(60_000) == long)
        #expect(web.notes.value.withLock { $0.received.count } == 3)
    }

    @Test func bothEndsCloseInTurn() throws {
        let web = try WebSocketFixture()
        var client = try web.open()
        client.send(maskedFrame(8, [0x03, 0xE8] + Array("bye".utf8)))
        #expect(try client.read(4) == [0x88, 0x02, 0x03, 0xE8])
        #expect(try client.rest().isEmpty)
        try wait(until: "the owner knows") { web.closed == 1 }

        client = try web.open()
        web.notes.value.withLock { $0.sockets.last }?.close()
        #expect(try client.read(4) == [0x88, 0x02, 0x03, 0xE8])
        client.send(maskedFrame(8, [0x03, 0xE8]))
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
        let web = try WebSocketFixture()
        let client = try web.open()
        client.send(bytes)
        #expect(try client.read(4) == [0x88, 0x02, UInt8(code >> 8), UInt8(code & 0xFF)])
        client.send(maskedFrame(8, []))
        #expect(try client.rest().isEmpty)
        try wait(until: "the owner knows") { web.closed == 1 }
        #expect(web.notes.value.withLock { $0.received.isEmpty })
    }

    /// Requests that are not taken are answered as any other, and so are those after which none came.
    @Test func otherRequestsAreAnswered() throws {
        let web = try WebSocketFixture()
        let client = try web.connect()
        client.send(WebSocketFixture.handshake.replacing("/socket?a=b", with: "/other?c=%20d"))
        #expect(String(decoding: try client.response().body, as: UTF8.self) == "/other c=%20d\n")
        let plain = try web.connect()
        for _ in 0..<2 {
            plain.send("GET /socket HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(String(decoding: try plain.response().body, as: UTF8.self) == "/socket \n")
        }
        let incomplete = try web.connect()
        incomplete.send(WebSocketFixture.handshake.replacing("Sec-WebSocket-Version: 13\r\n", with: ""))
        #expect(try incomplete.response().status != 101)
    }

    /// A client that does not wait for its response any more.
    @Test func disconnectionsAreTold() throws {
        let gone = Shared(0)
        let server = HTTPServer()
        defer { server.close() }
        let completions = Shared<[@Sendable (HTTPResponse) -> Void]>([])
        let listener = try server.listen(on: ListenAddress(host: "127.0.0.1", port: 0)) { request, completion in
            completions.value.withLock { $0.append(completion) }
            request.disconnection.notify { gone.value.withLock { $0 += 1 } }
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
