import HTTP
import NIOHTTP1
import Synchronization
import TestSupport

/// A server on a port of the loopback that the system chooses, before a service that only the tests know.
final class HTTPFixture {
    let events = EventHub()
    /// Whether the large body may still be seen.
    let isInSight = Flag()
    private let server: HTTPServer
    private let listener: HTTPServer.Listener

    final class Flag: Sendable {
        let value = Atomic(true)
    }

    /// - Parameter large: bytes of the bodies at `/large`, which all clients share, and `/own`.
    init(
        limits: HTTPLimits = HTTPLimits(),
        proxies: [AddressRange] = [],
        tls: (@Sendable () -> TLSIdentity)? = nil,
        large: Int = 0
    ) throws {
        let (events, isInSight) = (events, isInSight)
        events.publish { "first" }
        let body = [UInt8](repeating: 7, count: large)
        server = HTTPServer(limits: limits, proxies: proxies)
        listener = try server.listen(on: ListenAddress(host: "127.0.0.1", port: 0), tls: tls) { request, completion in
            var response: HTTPResponse
            switch request.path {
            case "/greeting": response = HTTPResponse(.ok, body: Array("hello".utf8))
            case "/echo": response = HTTPResponse(.created, body: request.body)
            case "/client": response = HTTPResponse(.ok, body: Array(request.client.utf8))
            case "/events":
                response = HTTPResponse(.ok)
                response.body = .events(events)
            case "/own": response = HTTPResponse(.ok, body: body)
            case "/large":
                response = HTTPResponse(.ok, body: body)
                response.isBodyShared = true
                response.isInSight = { isInSight.value.load(ordering: .relaxed) }
            default: response = HTTPResponse(.notFound)
            }
            completion(response)
        }
    }

    var port: UInt16 { listener.port }

    /// - Parameter network: the client's address, any that begins with 127: each is a network of its own.
    func connect(from network: String = "127.0.0.1") throws -> HTTPClient {
        try HTTPClient(port: listener.port, from: network)
    }

    /// One request on a connection of its own.
    func request(_ method: String, _ path: String, _ fields: [String] = []) throws -> ReceivedResponse {
        try connect().request(method, path, fields)
    }

    deinit {
        listener.close()
        server.close()
    }
}

extension HTTPLimits {
    init(_ change: (inout Self) -> Void) {
        self.init()
        change(&self)
    }
}
