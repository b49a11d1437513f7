import Glibc
import Posix
import TestSupport
import Testing
import Time

/// On the loopback interface.
@Suite struct GroupSocketTests {
    private func loopback() throws -> NetworkInterface {
        try #require(NetworkInterface.all().first { $0.isLoopback && $0.addresses.contains("127.0.0.1") })
    }

    private func freePort() throws -> UInt16 {
        let socket = try UDPSocket(family: AF_INET)
        return try socket.localAddress().port
    }

    private func receive(_ socket: borrowing GroupSocket) throws -> (bytes: [UInt8], source: SocketAddress)? {
        var items = [PollItem(socket.raw)]
        try poll(&items, until: MonotonicClock.now() + .seconds(60))
        var buffer = [UInt8](repeating: 0, count: 512)
        return try socket.receive(into: &buffer).map { (Array(buffer[..<$0.count]), $0.source) }
    }

    @Test(arguments: [("239.255.83.90", "127.0.0.1"), ("ff12::5390", "::1")])
    func aGroupHears(group: String, host: String) throws {
        let interface = try loopback()
        let port = try freePort()
        // Two processes of one machine have the same port.
        var one = try GroupSocket(group: group, port: port)
        var other = try GroupSocket(group: group, port: port)
        try one.join(interface)
        try one.join(interface)
        try other.join(interface)
        try one.send([1, 2, 3], on: interface)
        for heard in [try receive(one), try receive(other)] {
            #expect(heard?.bytes == [1, 2, 3] && heard?.source.port == port)
        }
        // Another group of the same port is not heard.
        var foreign = try GroupSocket(group: group.replacingLast("0", by: "1"), port: port)
        try foreign.join(interface)
        try foreign.send([9], on: interface)
        let own = try receive(foreign)
        #expect(own?.bytes == [9])
        var buffer = [UInt8](repeating: 0, count: 512)
        let stray = try one.receive(into: &buffer)
        #expect(stray == nil)
        // An answer goes to one alone.
        let address = try #require(SocketAddress(numbers: host, port: port))
        #expect(address.host == host && address.port == port && address.interface == 0)
        try one.send([4], to: address)
    }

    @Test func addressesAreReadInNumbers() {
        #expect(
            SocketAddress(numbers: "fe80::1", interface: 7, port: 9).map { [$0.interface, UInt32($0.port)] } == [7, 9]
        )
        #expect(
            SocketAddress(numbers: "192.0.2.7", interface: 7, port: 9).map { "\($0) \($0.interface)" }
                == "192.0.2.7:9 0"
        )
        for text in ["", "localhost", "1.2.3", "::g", "1.2.3.4 "] {
            #expect(SocketAddress(numbers: text, port: 1) == nil)
        }
        #expect(throws: SystemError.self) { _ = try GroupSocket(group: "nowhere", port: 1) }
    }

    @Test func interfacesAreListed() throws {
        let interface = try loopback()
        #expect(interface.index > 0 && interface.broadcasts.isEmpty && interface.name == "lo")
    }
}

extension String {
    fileprivate func replacingLast(_ character: Character, by other: Character) -> String {
        guard let index = lastIndex(of: character) else { return self }
        return String(self[..<index]) + String(other) + String(self[self.index(after: index)...])
    }
}
