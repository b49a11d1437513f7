import HTTP
import NIOHTTP1
import Synchronization
import TestSupport

/// A server whose WebSockets at `/socket` send back what they get, and note what happens.
final class WebSocketFixture: Sendable {
    struct Notes {
        var sockets: [WebSocket] = []
        var received: [WebSocketMessage] = []
        var closed = 0
    }

    let server: HTTPServer
    let listener: HTTPServer.Listener
    let notes: Shared<Notes>

    init(bodySize: Int = 70_000, unread: Int = 4 << 20, idleConnections: Int = 512) throws {
        let notes = Shared(Notes())
        self.notes = notes
        server = HTTPServer(
            limits: HTTPLimits {
                ($0.idleConnectionsOfOneNetwork, $0.bodySize, $0.unread) = (idleConnections, bodySize, unread)
            }
        )
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

    /// The request of RFC 6455 §1.2.
    static let handshake = """
        GET /socket?a=b HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
        Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n
        """

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
        client.send(Self.handshake)
        _ = try client.rest(through: "\r\n\r\n")
        try wait(until: "the owner knows") { notes.value.withLock { $0.sockets.count } > before }
        return client
    }

    var closed: Int { notes.value.withLock { $0.closed } }
}

final class Shared<Value>: Sendable {
    let value: Mutex<Value>
    init(_ value: sending Value) { self.value = Mutex(value) }
}

/// A masked frame (RFC 6455 §5.2), with the mask of the examples in §5.7.
func maskedFrame(_ opcode: UInt8, _ payload: [UInt8], isLast: Bool = true) -> [UInt8] {
    let mask: [UInt8] = [0x37, 0xFA, 0x21, 0x3D]
    var bytes = [opcode | (isLast ? 0x80 : 0)]
    if payload.count < 126 {
        bytes.append(0x80 | UInt8(payload.count))
    } else {
        bytes += [0x80 | 126, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF)]
    }
    return bytes + mask + payload.enumerated().map { $1 ^ mask[$0 % 4] }
}
