import Glibc
import Posix
import TestSupport
import Testing

@Suite struct ConnectedSocketTests {
    /// Nobody listens there, for UDP or TCP.
    private static func deadAddress() throws -> SocketAddress {
        try SocketAddress.resolve(host: Relay.loopbackAddress(), port: 9)
    }

    /// At once, or when the socket is used.
    @Test(arguments: [true, false])
    func thatNobodyIsThereShows(isStream: Bool) throws {
        let address = try Self.deadAddress()
        let error = #expect(throws: SystemError.self) {
            let socket = try ConnectedSocket(isStream: isStream, to: address)
            if !isStream { _ = try socket.send([1]) }
            waitReadable(socket.raw, until: nil)
            _ = try socket.receive(limit: 10)
        }
        #expect(error?.code == ECONNREFUSED)
    }

    @Test func datagramsGoBothWays() throws {
        let other = try UDPSocket(family: AF_INET)
        var address = try SocketAddress.resolve(host: "127.0.0.1", port: 0)
        address.port = try other.localAddress().port
        let socket = try ConnectedSocket(isStream: false, to: address)
        let nothing = try socket.receive(limit: 10)
        let sent = try socket.send([1, 2, 3])
        #expect(nothing == nil && sent == 3)
        var buffer = [UInt8](repeating: 0, count: 10)
        waitReadable(other.raw, until: nil)
        let datagram = try other.receive(into: &buffer)
        let received = try #require(datagram)
        #expect(buffer[..<received.count] == [1, 2, 3])
        try other.send([4, 5], to: received.source)
        waitReadable(socket.raw, until: nil)
        let reply = try socket.receive(limit: 1)
        #expect(reply == [4], "the rest is lost")
    }
}
