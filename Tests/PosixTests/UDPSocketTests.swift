import Glibc
import Posix
import TestSupport
import Testing

final class UDPSocketTests {
    private let sender: UDPSocket
    private let receiver: UDPSocket

    init() throws {
        let receiver = try UDPSocket(family: AF_INET)
        let sender = try UDPSocket(family: AF_INET)
        let port = try receiver.localAddress().port
        try sender.connect(to: try SocketAddress.resolve(host: "127.0.0.1", port: port))
        self.sender = sender
        self.receiver = receiver
    }

    /// Sizes that the kernel can cut from one piece, and sizes that it cannot: what arrives is what was sent.
    @Test(arguments: [
        [1], [1200, 1200], [1200, 1200, 7], [7, 1200], [1200, 7, 1200], [0, 0, 5, 0], [1200, 0, 1200],
        [Int](repeating: 1200, count: 64), [Int](repeating: 1, count: 64), [Int](repeating: 1200, count: 65),
        [Int](repeating: 9000, count: 20), [65_507, 65_507, 1], (0..<64).map { 1200 - $0 % 3 }, Array(1...64),
    ])
    func whatIsSentTogetherArrivesApart(sizes: [Int]) throws {
        var bytes: [UInt8] = []
        var (starts, ends): ([Int], [Int]) = ([], [])
        for (index, size) in sizes.enumerated() {
            bytes += [UInt8](repeating: 0xEE, count: index % 4)
            starts.append(bytes.count)
            bytes += (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ index) }
            ends.append(bytes.count)
        }
        for first in [0, sizes.count / 2] {
            var taken = first
            var buffer = [UInt8](repeating: 0, count: 65_536)
            while taken < sizes.count {
                let count = try sender.send(bytes, starts: starts, ends: ends, from: taken)
                #expect(1...64 ~= count)
                for index in taken..<taken + count {
                    let arrived = try receiver.receive(into: &buffer)?.count
                    let received = try #require(arrived)
                    #expect(buffer[..<received].elementsEqual(bytes[starts[index]..<ends[index]]))
                }
                taken += count
            }
            let more = try receiver.receive(into: &buffer)?.count
            #expect(more == nil)
        }
    }

    @Test func nobodyThereIsAnError() throws {
        let lonely = try UDPSocket(family: AF_INET)
        do {
            let port = try UDPSocket(family: AF_INET).localAddress().port
            try lonely.connect(to: try SocketAddress.resolve(host: "127.0.0.1", port: port))
        }
        let (bytes, ends) = ([UInt8](repeating: 0, count: 30), [10, 20, 30])
        #expect(throws: SystemError("sendmmsg", code: ECONNREFUSED)) {
            for _ in 0..<2 { _ = try lonely.send(bytes, starts: [0, 10, 20], ends: ends, from: 0) }
        }
    }
}
