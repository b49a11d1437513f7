import Posix
import TestSupport
import Testing

@testable import HTTP

/// Who asks, where requests come by web proxies.
@Suite struct ProxiesTests {
    private let proxies = ["192.0.2.1", "10.0.0.0/8", "fd00::/8"].compactMap { AddressRange(parsing: $0) }
    private let proxy = ClientAddress("192.0.2.1")

    @Test(arguments: [
        // Nobody else is believed.
        ("198.51.100.9", ["203.0.113.5"], "198.51.100.9"), ("::1", ["203.0.113.5"], "::1"),
        ("192.0.2.1", [], "192.0.2.1"), ("192.0.2.1", [""], "192.0.2.1"), ("192.0.2.1", [" , "], "192.0.2.1"),
        ("192.0.2.1", ["203.0.113.5"], "203.0.113.5"), ("::ffff:192.0.2.1", ["203.0.113.5"], "203.0.113.5"),
        // What a client says of itself stands before what a proxy says of it.
        ("192.0.2.1", ["127.0.0.1, 203.0.113.5"], "203.0.113.5"),
        ("192.0.2.1", ["10.9.9.9, 203.0.113.5"], "203.0.113.5"),
        ("192.0.2.1", ["rubbish, 203.0.113.5"], "203.0.113.5"),
        ("192.0.2.1", ["127.0.0.1", "203.0.113.5"], "203.0.113.5"),
        ("192.0.2.1", ["203.0.113.5", "10.1.2.3"], "203.0.113.5"),
        ("192.0.2.1", ["203.0.113.5, 10.1.2.3,fd12::1"], "203.0.113.5"),
        // All are proxies: the first of them asks.
        ("192.0.2.1", ["10.1.2.3, fd12::1"], "10.1.2.3"),
        // What a proxy wrote and nobody understands is as if it had written nothing.
        ("192.0.2.1", ["203.0.113.5, unknown"], "192.0.2.1"), ("192.0.2.1", ["203.0.113.5, 10.0.0.0.1"], "192.0.2.1"),
        ("192.0.2.1", ["203.0.113.5, _hidden, 10.1.2.3"], "10.1.2.3"), ("192.0.2.1", ["1.2.3"], "192.0.2.1"),
        ("192.0.2.1", ["💣"], "192.0.2.1"), ("192.0.2.1", ["[::1"], "192.0.2.1"), ("192.0.2.1", ["[]:1"], "192.0.2.1"),
        ("192.0.2.1", ["1.2.3.4:99999"], "192.0.2.1"),
        // Forms of the same.
        ("192.0.2.1", ["203.0.113.5:4711"], "203.0.113.5"), ("192.0.2.1", ["[2001:db8::5]:4711"], "2001:db8::5"),
        ("192.0.2.1", ["[2001:DB8:0:0::5]"], "2001:db8::5"), ("192.0.2.1", ["2001:db8:0:0:0:0:0:5"], "2001:db8::5"),
        ("192.0.2.1", ["::ffff:203.0.113.5"], "203.0.113.5"), ("192.0.2.1", ["fe80::1%eth0"], "fe80::1"),
    ])
    func theClientIsTheLastThatIsNoProxy(peer: String, fields: [String], client: String) {
        #expect(proxies.client(of: ClientAddress(peer), forwardedFor: fields).description == client)
    }

    /// Whatever stands there, an address comes out, and never one that a client made up.
    @Test func rubbishIsBorne() throws {
        var random = SplitMix(seed: 19)
        let pieces = [
            ",", " ", ".", ":", "[", "]", "%", "/", "\"", "1", "255", "::", "10.0.0.1", "192.0.2.1", "fd00::1", "ffff",
            "é",
            "for=", "unknown", "2001:db8::1",
        ]
        for _ in 0..<20_000 {
            let length = Int.random(in: 0..<12, using: &random)
            let text = (0..<length).map { _ in pieces.randomElement(using: &random)! }.joined()
            let client = proxies.client(of: proxy, forwardedFor: [text]).description
            #expect(IPAddress(parsing: client) != nil, "\(text)")
            let behind = proxies.client(of: proxy, forwardedFor: ["\(text),203.0.113.5"])
            #expect(behind.description == "203.0.113.5", "\(text)")
        }
        let long = String(repeating: "10.0.0.1,", count: 1800)
        #expect(proxies.client(of: proxy, forwardedFor: [long]).description == "10.0.0.1")
    }

    @Test func withoutProxiesNobodyIsBelieved() {
        let none: [AddressRange] = []
        #expect(none.client(of: proxy, forwardedFor: ["203.0.113.5"]).description == "192.0.2.1")
    }

    @Test(arguments: [
        ("192.0.2.1", "192.0.2.1", true), ("192.0.2.1", "192.0.2.2", false), ("192.0.2.0/24", "192.0.2.255", true),
        ("192.0.2.0/24", "192.0.3.0", false), ("192.0.2.128/25", "192.0.2.127", false), ("0.0.0.0/0", "1.2.3.4", true),
        ("0.0.0.0/0", "::1", false), ("10.1.2.3/8", "10.200.0.1", true), ("192.0.2.1/32", "192.0.2.1", true),
        ("2001:db8::/33", "2001:db8:7fff::1", true), ("2001:db8::/33", "2001:db8:8000::1", false),
        ("::/0", "2001:db8::1", true), ("::/0", "192.0.2.1", false), ("::ffff:192.0.2.1", "192.0.2.1", true),
    ])
    func aRangeHoldsWhatBeginsAsItDoes(range: String, address: String, isIn: Bool) throws {
        let parsed = try #require(AddressRange(parsing: range))
        #expect(parsed.contains(try #require(IPAddress(parsing: address))) == isIn)
        #expect("\(parsed)" == range)
    }

    @Test(arguments: [
        "", "/", "192.0.2.1/", "192.0.2.1/33", "192.0.2.1/-1", "192.0.2.1/+8", "192.0.2.1/8/8", "192.0.2",
        "proxy.example",
        "::1/129", "::ffff:192.0.2.1/96", "fe80::1%eth0", "192.0.2.1:80", "[::1]", "192.0.2.1/99999999999999999999",
        " ::1",
    ])
    func whatIsNoRangeIsRefused(text: String) { #expect(AddressRange(parsing: text) == nil) }

    /// Each of a proxy's clients has its own limits, and is known by its own address.
    @Test func limitsAreThoseOfTheClients() throws {
        let web = try HTTPFixture(
            limits: HTTPLimits { ($0.connections, $0.connectionsOfOneNetwork) = (64, 2) },
            proxies: [try #require(AddressRange(parsing: "127.0.0.0/8"))]
        )
        func request(_ client: String, _ path: String) throws -> ReceivedResponse {
            try web.request("GET", path, ["X-Forwarded-For: \(client)"])
        }
        // More connections than one network may have.
        let open = try (0..<4).map { _ in try web.connect() }
        // They stay connected to the end.
        defer { withExtendedLifetime(open) {} }
        for number in 1...4 { #expect(try request("203.0.113.\(number)", "/client").text == "203.0.113.\(number)") }
        // Those that listen count as long as they do.
        for client in open.prefix(2) {
            #expect(try client.request("GET", "/events", ["X-Forwarded-For: 203.0.113.1"]).status == 200)
        }
        #expect(try request("203.0.113.1", "/client").status == 429)
        #expect(try request("203.0.113.2", "/client").status == 200)
    }
}
