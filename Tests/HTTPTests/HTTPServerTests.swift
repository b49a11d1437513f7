import HTTP
import NIOHTTP1
import TestSupport
import Testing

@Suite struct HTTPServerTests {
    @Test func aListenerThatIsClosedLetsItsConnectionsGoOn() throws {
        let server = HTTPServer()
        defer { server.close() }
        let listener = try listen(server, port: 0)
        let client = try HTTPClient(port: listener.port)
        #expect(try client.request("GET", "/").status == 404)
        listener.close()
        #expect(throws: (any Error).self) { try HTTPClient(port: listener.port) }
        #expect(try client.request("GET", "/").status == 404)
    }

    @Test func aServerThatIsClosedCutsItsConnections() throws {
        let server = HTTPServer()
        let listener = try listen(server, port: 0)
        let client = try HTTPClient(port: listener.port)
        #expect(try client.request("GET", "/").status == 404)
        listener.close()
        server.close()
        #expect(try client.rest().isEmpty)
    }

    @Test func aPortInUseIsNamed() throws {
        let server = HTTPServer()
        defer { server.close() }
        let listener = try listen(server, port: 0)
        defer { listener.close() }
        let error = try #require(throws: HTTPServerError.self) { try listen(server, port: listener.port) }
        #expect("\(error)" == "cannot listen on 127.0.0.1:\(listener.port) (Address already in use)")
    }

    @Test func aHostWithoutAnAddressIsNamed() throws {
        let server = HTTPServer()
        defer { server.close() }
        let error = try #require(throws: HTTPServerError.self) { try listen(server, host: "nowhere.invalid", port: 80) }
        #expect("\(error)" == "cannot listen on nowhere.invalid:80 (its name has no address)")
    }

    /// Finds nothing at any path.
    private func listen(_ server: HTTPServer, host: String = "127.0.0.1", port: UInt16) throws -> HTTPServer.Listener {
        try server.listen(on: ListenAddress(host: host, port: port)) { _, completion in
            completion(.sentence(.notFound, "there is nothing here"))
        }
    }
}
