import TestSupport
import Testing

@testable import TLS

@Suite struct TLSStreamTests {
    private let own: TLSEndpoint
    private let other: TLSEndpoint

    init() throws { (own, other) = (try TLSEndpoint(), try TLSEndpoint()) }

    /// Passes on what both have for the network, until neither has anything.
    private func exchange(_ one: TLSStream, _ two: TLSStream) {
        while !one.output.isEmpty || !two.output.isEmpty {
            for (sender, receiver) in [(one, two), (two, one)] where !sender.output.isEmpty {
                let bytes = sender.output
                receiver.receive(bytes)
                sender.dropOutput(bytes.count)
            }
        }
    }

    private func readAll(_ stream: TLSStream) -> [UInt8] {
        var (all, buffer) = ([UInt8](), [UInt8](repeating: 0, count: 16_384))
        while case let count = stream.read(into: &buffer), count > 0 { all += buffer[..<count] }
        return all
    }

    private func open() throws -> (client: TLSStream, server: TLSStream) {
        let (client, server) = (try TLSStream(.client, of: own), try TLSStream(.server, of: other))
        exchange(client, server)
        return (client, server)
    }

    @Test func bothSidesSeeTheServersCertificate() throws {
        let (client, server) = try open()
        #expect(client.state == .open && server.state == .open)
        #expect(client.serverCertificate == other.certificate && server.serverCertificate == other.certificate)
        #expect(own.certificate != other.certificate && own.certificate.count == 32)
    }

    @Test func bytesComeThroughBothWays() throws {
        let (client, server) = try open()
        var random = SplitMix(seed: 7)
        for count in [0, 1, 16_383, 16_384, 16_385, 300_000] {
            let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
            client.write(bytes)
            server.write(bytes.reversed())
            exchange(client, server)
            #expect(readAll(server) == bytes && readAll(client) == bytes.reversed())
        }
    }

    /// A middleman that answers both sides itself has another certificate.
    @Test func aMiddlemanIsSeen() throws {
        let middle = try TLSEndpoint()
        let (client, front) = (try TLSStream(.client, of: own), try TLSStream(.server, of: middle))
        let (back, server) = (try TLSStream(.client, of: middle), try TLSStream(.server, of: other))
        exchange(client, front)
        exchange(back, server)
        #expect(client.state == .open && client.serverCertificate != server.serverCertificate)
    }

    @Test func aGoodbyeIsToldFromAnEnd() throws {
        let (client, server) = try open()
        client.write([1, 2])
        client.close()
        exchange(client, server)
        #expect(readAll(server) == [1, 2] && server.state == .closed && client.state == .closed)
        server.write([3])
        #expect(server.output.isEmpty)
    }

    /// Whatever comes, before and after the handshake.
    @Test func noiseEndsIt() throws {
        var random = SplitMix(seed: 1)
        for round in 0..<300 {
            let isOpen = round % 2 == 0
            let server = try isOpen ? open().server : TLSStream(.server, of: other)
            server.receive((0..<200).map { _ in UInt8.random(in: 0...255, using: &random) }[...])
            _ = readAll(server)
            guard case .failed(let error) = server.state else {
                Issue.record("noise is taken for TLS")
                continue
            }
            #expect(!error.reason.isEmpty && readAll(server).isEmpty)
        }
    }

    /// A byte that was changed on the way.
    @Test func changedBytesAreNotRead() throws {
        var random = SplitMix(seed: 2)
        for _ in 0..<100 {
            let (client, server) = try open()
            client.write(Array("a line that matters".utf8))
            var bytes = Array(client.output)
            // The first ones are the type, the version and the length of a record.
            bytes[Int.random(in: 5..<bytes.count, using: &random)] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            server.receive(bytes[...])
            #expect(readAll(server).isEmpty)
            guard case .failed = server.state else {
                Issue.record("it was not noticed")
                continue
            }
        }
    }
}
