import COpenSSL
import HTTP
import NIOHTTP1
import Posix
import Synchronization
import TestSupport
import Testing

/// Replies that the protocol makes by itself, for an end that asks for them and does not read.
@Suite struct UnreadReplyTests {
    /// Bytes that the kernels of both ends hold between them, and no more.
    private static let kernelSize = 1 << 20
    private static let pingCount = 15_000

    private final class Sockets: Sendable {
        let all = Mutex<[WebSocket]>([])
        let received = Mutex(0)

        /// Of sockets that send back what they get.
        var owner: WebSocketOwner {
            let socket = Mutex<WebSocket?>(nil)
            return WebSocketOwner(
                opened: { [self] opened in
                    all.withLock { $0.append(opened) }
                    socket.withLock { $0 = opened }
                },
                received: { [self] message in
                    socket.withLock(\.self)?.send(message)
                    received.withLock { $0 += 1 }
                },
                closed: {}
            )
        }
    }

    /// A frame of a server.
    private func frame(_ opcode: UInt8, _ payload: [UInt8]) -> [UInt8] {
        [opcode | 0x80, UInt8(payload.count)] + payload
    }

    /// Sends pings to a client at the other end of an open WebSocket without reading, and reads at last. What comes then is what the
    /// client and the kernels have held; the newest ping is answered.
    private func flood(_ peer: HTTPClient, _ sockets: Sockets) throws {
        let ping = frame(9, [UInt8](repeating: 1, count: 125))
        let many = [UInt8]([[UInt8]](repeating: ping, count: 1000).joined())
        for _ in 0..<Self.pingCount / 1000 { peer.send(many) }
        let newest = Array("newest".utf8)
        peer.send(frame(9, newest))
        peer.send(frame(1, Array("end".utf8)))
        try wait(until: "the other end has read them all") { sockets.received.withLock { $0 == 1 } }
        var pongs: [[UInt8]] = []
        var isOver = false
        var size = 0
        while !isOver || pongs.last != newest {
            let head = try peer.read(2)
            let mask = try peer.read(4)
            let payload = try peer.read(Int(head[1] & 0x7F)).enumerated().map { $1 ^ mask[$0 % 4] }
            size += 2 + payload.count
            if head[0] == 0x8A { pongs.append(payload) } else { isOver = true }
        }
        #expect(size < Self.kernelSize, "\(pongs.count) pings were answered")
    }

    @Test func pingsToAClient() throws {
        let sockets = Sockets()
        let listener = try TCPListener()
        let client = WebClient(try TLSTrust())
        defer { client.close() }
        client.openSocket("/", of: WebOrigin(parsing: "http://127.0.0.1:\(listener.port)")!, owner: sockets.owner) {
            Issue.record("no WebSocket: \($0)")
        }
        let peer = try listener.accept()
        let request = String(decoding: try peer.rest(through: "\r\n\r\n"), as: UTF8.self)
        let field = try #require(
            request.split(separator: "\r\n").first { $0.lowercased().hasPrefix("sec-websocket-key:") }
        )
        let key = Array((field.split(separator: " ")[1] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8)
        var digest = [UInt8](repeating: 0, count: 20)
        SHA1(key, key.count, &digest)
        var accept = [UInt8](repeating: 0, count: 29)
        EVP_EncodeBlock(&accept, digest, 20)
        peer.send(
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: "
                + String(decoding: accept.prefix(28), as: UTF8.self) + "\r\n\r\n"
        )
        try wait(until: "it is open") { sockets.all.withLock { !$0.isEmpty } }
        try flood(peer, sockets)
    }

    /// Requests that come without waiting for their responses, which have no body.
    @Test func responsesThatAreAllHead() throws {
        let answered = Mutex(0)
        let server = HTTPServer()
        defer { server.close() }
        let long = String(repeating: "x", count: 8000)
        let listener = try server.listen(on: ListenAddress(host: "127.0.0.1", port: 0)) { request, completion in
            if request.path == "/" { answered.withLock { $0 += 1 } }
            completion(HTTPResponse(.noContent, ["X-Long": long]))
        }
        defer { listener.close() }
        let count = 400
        let client = try HTTPClient(port: listener.port)
        client.send(String(repeating: "HEAD / HTTP/1.1\r\nHost: x\r\n\r\n", count: count))
        // Another client is served meanwhile.
        let other = try HTTPClient(port: listener.port)
        var (before, rest) = (-1, 0)
        while rest < 50 {
            #expect(try other.request("HEAD", "/other").status == 204)
            let now = answered.withLock(\.self)
            (before, rest) = (now, now == before && now > 0 ? rest + 1 : 0)
        }
        #expect(before * long.count < Self.kernelSize)
        for _ in 0..<count { #expect(try client.response(hasBody: false).status == 204) }
        #expect(answered.withLock(\.self) == count)
    }
}
