import Glibc
import HTTP
import Posix
import Synchronization
import TestSupport
import Testing

/// What waits until clients read it, of all together.
@Suite struct ClientMemoryTests {
    private final class Cuts: Sendable {
        private let list = Mutex<[String]>([])

        func note(_ name: String) { list.withLock { $0.append(name) } }
        var all: [String] { list.withLock(\.self) }
    }

    private let memory = ClientMemory(limit: 100)
    private let cuts = Cuts()

    private func open(_ name: String, in network: String) -> ClientMemory.Share {
        memory.open(for: network) { [cuts] in cuts.note(name) }
    }

    @Test func theSlowestGoesFirst() {
        let (one, two, three) = (open("one", in: "a"), open("two", in: "b"), open("three", in: "c"))
        #expect(one.add(30) && two.add(40) && three.add(30))
        #expect(cuts.all.isEmpty)
        #expect(one.add(5))
        #expect(cuts.all == ["two"])
        // Nothing waits for it any more.
        #expect(!two.add(1))
        two.remove(40)
        #expect(one.add(35))
        #expect(cuts.all == ["two"])
        #expect(!one.add(1))
        #expect(cuts.all == ["two", "one"])
        #expect(three.add(70))
    }

    /// Whoever opens many connections does not displace others.
    @Test func theNetworkWithMostPaysFirst() {
        let many = (0..<10).map { open("\($0)", in: "a") }
        for share in many { #expect(share.add(9)) }
        let other = open("other", in: "b")
        #expect(other.add(30))
        #expect(cuts.all == ["0", "1", "2"])
        #expect(other.add(7))
        #expect(cuts.all == ["0", "1", "2"])
    }

    @Test func oneNetworkMayHaveALimitOfItsOwn() {
        let memory = ClientMemory(limit: 100, ofOneNetwork: 50)
        func open(_ name: String, in network: String) -> ClientMemory.Share {
            memory.open(for: network) { [cuts] in cuts.note(name) }
        }
        let (one, two, other) = (open("one", in: "a"), open("two", in: "a"), open("other", in: "b"))
        #expect(other.add(50) && one.add(20) && two.add(30))
        #expect(cuts.all.isEmpty)
        #expect(one.add(1))
        #expect(cuts.all == ["two"])
        #expect(one.add(29))
        #expect(!other.add(1))
        #expect(cuts.all == ["two", "other"])
    }

    /// Among those for whom as much waits, the one that has read goes last.
    @Test func whoReadsStays() {
        let (one, two) = (open("one", in: "a"), open("two", in: "a"))
        #expect(one.add(50) && two.add(40))
        one.remove(10)
        #expect(open("three", in: "a").add(30))
        #expect(cuts.all == ["two"])
    }

    /// A message of its own that has come whole is nothing that it has read.
    @Test func sendingIsNotReading() {
        let (one, two) = (open("one", in: "a"), open("two", in: "a"))
        #expect(one.add(50) && two.add(40))
        one.remove(10, isRead: false)
        #expect(open("three", in: "a").add(30))
        #expect(cuts.all == ["one"])
    }

    @Test func whatIsReadOrClosedDoesNotCount() {
        let (one, two) = (open("one", in: "a"), open("two", in: "b"))
        for _ in 0..<10 {
            #expect(one.add(90))
            one.remove(90)
        }
        #expect(two.add(90))
        two.close()
        #expect(one.add(90))
        #expect(!two.add(1))
        #expect(cuts.all.isEmpty)
    }

    @Test(arguments: [
        "GET / HTTP/1.1\r\nX-Long: " + String(repeating: "x", count: 15_000),
        "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\n" + String(repeating: "x", count: 50_000),
        "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-Trailer: "
            + String(repeating: "x", count: 15_000),
    ])
    func requestsThatHaveNotComeWholeCount(part: String) throws {
        func text(_ count: Int) -> String { String(repeating: "x", count: count) }
        let web = try HTTPFixture(
            limits: HTTPLimits { ($0.requestTimeout, $0.unread) = (.seconds(300), 200_000) }
        )
        let clients = try (0..<16).map { _ in
            let client = try web.connect(from: "127.0.0.2")
            client.send(part)
            return client
        }
        try wait(until: "one is cut off") {
            clients.contains { client in
                var byte: UInt8 = 0
                let count = recv(client.descriptor.raw, &byte, 1, Int32(MSG_DONTWAIT))
                return count == 0 || (count < 0 && errno != EAGAIN)
            }
        }
        // Those that have do not.
        let other = try web.connect(from: "127.0.0.3")
        for _ in 0..<40 {
            #expect(try other.request("POST", "/echo", body: text(10_000)).body.count == 10_000)
        }
    }

    /// Of a body that a client has for itself all counts, and of one that others have too only what is on its way.
    @Test func aSlowReaderMakesRoomForAnother() throws {
        let size = 8 << 20
        let web = try HTTPFixture(
            limits: HTTPLimits { ($0.requestTimeout, $0.unread) = (.seconds(300), 12 << 20) },
            large: size
        )
        func ask(_ path: String, from network: String) throws -> HTTPClient {
            let client = try web.connect(from: network)
            client.send("GET \(path) HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            _ = try client.read(1)
            return client
        }
        let shared = try (0..<3).map { _ in try ask("/large", from: "127.0.0.2") }
        let slow = try ask("/own", from: "127.0.0.3")
        let other = try web.connect(from: "127.0.0.4")
        #expect(try other.request("GET", "/own").body.count == size)
        #expect(try slow.rest().count < size)
        for client in shared { #expect(try client.rest().count > size) }
    }
}
