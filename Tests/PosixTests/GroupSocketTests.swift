import Glibc
import Posix
import Synchronization
import TestSupport
import Testing
import Time

/// In a network of their own, with one interface.
@Suite struct GroupSocketTests {
    private static let interface = "group0"

    /// Runs something on a thread whose network is its own.
    private func inNetwork<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) throws -> Value {
        let result = Mutex<Result<Value, any Error>?>(nil)
        try withExtendedLifetime(result) {
            let thread = try Thread {
                let value = Result {
                    // Glibc's module leaves it out.
                    let unshare = unsafeBitCast(dlsym(nil, "unshare"), to: (@convention(c) (Int32) -> Int32).self)
                    try check("unshare") { unshare(0x4000_0000) }
                    for words in [
                        "link set lo up", "link add \(Self.interface) type veth peer name peer0",
                        "link set \(Self.interface) up",
                        "link set peer0 up",
                        "addr add 10.97.3.4/24 brd + dev \(Self.interface)",
                        "addr add fe80::97/64 dev \(Self.interface) nodad",
                    ] {
                        try Subprocess.run(["ip"] + words.split(separator: " ").map(String.init))
                    }
                    return try body()
                }
                result.withLock { $0 = value }
            }
            thread.join()
        }
        return try #require(result.withLock { $0 }).get()
    }

    private static func receive(_ socket: borrowing GroupSocket) throws -> [UInt8]? {
        var items = [PollItem(socket.raw)]
        try poll(&items, until: MonotonicClock.now() + .seconds(60))
        var buffer = [UInt8](repeating: 0, count: 512)
        return try socket.receive(into: &buffer).map { Array(buffer[..<$0.count]) }
    }

    @Test(arguments: [("239.255.83.90", "239.255.83.91"), ("ff12::5390", "ff12::5391")])
    func aGroupHears(group: String, other: String) throws {
        let heard = try inNetwork { () -> [[UInt8]?] in
            guard let interface = NetworkInterface.all().first(where: { $0.name == Self.interface }) else { return [] }
            // Two processes of one machine have the same port.
            var one = try GroupSocket(group: group, port: 53_390)
            var two = try GroupSocket(group: group, port: 53_390)
            var foreign = try GroupSocket(group: other, port: 53_390)
            try one.join(interface)
            try one.join(interface)
            try two.join(interface)
            try foreign.join(interface)
            try foreign.send([9], on: interface)
            try one.send([1, 2, 3], on: interface)
            return [try Self.receive(one), try Self.receive(two), try Self.receive(foreign)]
        }
        #expect(heard == [[1, 2, 3], [1, 2, 3], [9]])
    }

    @Test func aBroadcastIsHeard() throws {
        let heard = try inNetwork { () -> [UInt8]? in
            let broadcasts = NetworkInterface.all().flatMap(\.broadcasts)
            guard broadcasts == ["10.97.3.255"], let address = SocketAddress(numbers: broadcasts[0], port: 53_390)
            else {
                return nil
            }
            let socket = try GroupSocket(group: "239.255.83.90", port: 53_390)
            try socket.send([4], to: address)
            return try Self.receive(socket)
        }
        #expect(heard == [4])
    }

    @Test func addressesAreReadInNumbers() {
        let local = SocketAddress(numbers: "fe80::1", interface: 7, port: 9)
        #expect(local?.host == "fe80::1" && local?.interface == 7 && local?.port == 9)
        let global = SocketAddress(numbers: "192.0.2.7", interface: 7, port: 9)
        #expect(global.map { "\($0)" } == "192.0.2.7:9" && global?.interface == 0)
        for text in ["", "localhost", "1.2.3", "::g", "1.2.3.4 "] {
            #expect(SocketAddress(numbers: text, port: 1) == nil)
        }
        #expect(throws: SystemError.self) { _ = try GroupSocket(group: "nowhere", port: 1) }
    }

    @Test func interfacesAreListed() throws {
        let interface = try #require(
            NetworkInterface.all().first { $0.isLoopback && $0.addresses.contains("127.0.0.1") }
        )
        #expect(interface.index > 0 && interface.broadcasts.isEmpty && interface.name == "lo")
    }
}
