import Testing

@testable import WebRTC

@Suite struct CandidateTests {
    /// RFC 8839 §5.1 and its IPv6 forms; RFC 6544 for TCP; what browsers write.
    @Test(
        arguments: [
            (
                "1 1 UDP 2130706431 203.0.113.141 8998 typ host",
                Candidate(foundation: "1", priority: 2_130_706_431, address: "203.0.113.141", port: 8998, kind: .host)
            ),
            (
                "2 1 UDP 1694498815 192.0.2.3 45664 typ srflx raddr 203.0.113.141 rport 8998",
                Candidate(
                    foundation: "2",
                    priority: 1_694_498_815,
                    address: "192.0.2.3",
                    port: 45664,
                    kind: .serverReflexive,
                    related: .init(address: "203.0.113.141", port: 8998)
                )
            ),
            (
                "1 2 udp 2130706431 2001:db8::6676:baff:fe9c:ee4a 8998 typ host",
                Candidate(
                    foundation: "1",
                    component: 2,
                    priority: 2_130_706_431,
                    address: "2001:db8::6676:baff:fe9c:ee4a",
                    port: 8998,
                    kind: .host
                )
            ),
            (
                "Hc0a802ca+/ 1 TCP 2105524479 14bfc645-c3e6-49eb-b868-839c5263b0a5.local 9 typ host tcptype active",
                Candidate(
                    foundation: "Hc0a802ca+/",
                    transport: "tcp",
                    priority: 2_105_524_479,
                    address: "14bfc645-c3e6-49eb-b868-839c5263b0a5.local",
                    port: 9,
                    kind: .host
                )
            ),
            (
                "842163049 1 udp 41885439 198.51.100.7 60000 typ relay raddr 0.0.0.0 rport 0 generation 0 ufrag aB1 network-cost",
                Candidate(
                    foundation: "842163049",
                    priority: 41_885_439,
                    address: "198.51.100.7",
                    port: 60000,
                    kind: .relayed,
                    related: .init(address: "0.0.0.0", port: 0)
                )
            ),
            (
                "3 1 udp 0 fe80::1 1 typ prflx",
                Candidate(foundation: "3", priority: 0, address: "fe80::1", port: 1, kind: .peerReflexive)
            ),
        ]
    )
    func readsAndPrints(text: String, candidate: Candidate) {
        #expect(Candidate(parsing: text) == candidate)
        #expect(Candidate(parsing: "\(candidate)") == candidate)
    }

    @Test(arguments: [
        "", "1 1 udp 1 192.0.2.1 5000 typ", "1 1 udp 1 192.0.2.1 5000 type host", "1 1 udp 1 192.0.2.1 5000 typ other",
        "1 0 udp 1 192.0.2.1 5000 typ host", "1 257 udp 1 192.0.2.1 5000 typ host",
        "1 1 udp 4294967296 192.0.2.1 5000 typ host", "1 1 udp -1 192.0.2.1 5000 typ host",
        "1 1 udp 1 192.0.2.1 65536 typ host", "1 1 udp 1 192.0.2.1 x typ host", "1 1 udp 1 192.0.2.1 +5 typ host",
        "1 +1 udp 1 192.0.2.1 5000 typ host", "1 1 udp +1 192.0.2.1 5000 typ host",
        "\(String(repeating: "f", count: 33)) 1 udp 1 192.0.2.1 5000 typ host",
        "1 1 udp 1 \(String(repeating: "h", count: 256)) 5000 typ host",
    ])
    func whatCannotBeUsedIsNil(text: String) {
        #expect(Candidate(parsing: text) == nil)
    }
}

@Suite struct FingerprintTests {
    /// RFC 8842 §10, a hash in the form of RFC 8122 §5.
    private let example = """
        SHA-256 12:DF:3E:5D:49:6B:19:E5:7C:AB:4A:AD:B9:B1:3F:82:18:3B:54:02:12:DF:3E:5D:49:6B:19:E5:7C:AB:4A:AD
        """

    @Test func readsAndPrints() throws {
        let fingerprint = try #require(Fingerprint(parsing: example))
        #expect(fingerprint.hash == .sha256)
        #expect(fingerprint.bytes.prefix(4) == [0x12, 0xDF, 0x3E, 0x5D])
        #expect("\(fingerprint)" == "sha-256" + example.dropFirst(7))
        #expect(Fingerprint(parsing: example.lowercased()) == fingerprint)
    }

    @Test(arguments: Fingerprint.Hash.allCases)
    func eachHashReadsBack(hash: Fingerprint.Hash) {
        let size = [.sha256: 32, .sha384: 48, .sha512: 64][hash]!
        let fingerprint = Fingerprint(hash, (0..<UInt8(size)).map { $0 &* 37 })
        #expect(Fingerprint(parsing: "\(fingerprint)") == fingerprint)
        let other = Fingerprint.Hash.allCases.first { $0 != hash }!
        #expect(Fingerprint(parsing: "\(fingerprint)".replacing(hash.rawValue, with: other.rawValue)) == nil)
    }

    @Test func malformedAndWeakOnesDoNotCount() {
        let octets = example.dropFirst(8)
        let wrong = [
            "", "sha-256", "sha-256 ", "sha-1 \(octets)", "md5 \(octets)", "sha-256 \(octets.dropLast(3))",
            "sha-256 \(octets):00", "sha-256 \(octets.dropLast())", "sha-256 \(octets.dropFirst(2))",
            "sha-256 \(octets.replacing("12", with: "+1"))", "sha-256 \(octets.replacing("12", with: "-0"))",
            "sha-256 \(octets.replacing("12", with: "1G"))", "sha-256 \(octets) x",
            "sha-256 \(octets.replacing(":", with: ""))",
        ]
        for text in wrong { #expect(Fingerprint(parsing: text) == nil, "\(text)") }
    }
}

@Suite struct ICECredentialsTests {
    @Test func lengthsAreThoseOfTheRFC() {
        func credentials(_ fragment: Int, _ password: Int) -> ICECredentials? {
            ICECredentials(
                fragment: String(repeating: "u", count: fragment),
                password: String(repeating: "p", count: password)
            )
        }
        #expect(credentials(4, 22) != nil)
        #expect(credentials(256, 256) != nil)
        for (fragment, password) in [(3, 22), (257, 22), (4, 21), (4, 257), (0, 22), (4, 0)] {
            #expect(credentials(fragment, password) == nil, "\(fragment) \(password)")
        }
    }

    @Test(arguments: [" ", "\r", "\n", "\0", "\"", ":", "é", ";", "%", "*"])
    func othersThanICECharactersAreRefused(character: String) {
        let password = "0123456789abcdefghijkl"
        #expect(ICECredentials(fragment: "ab+/-_=9", password: password) != nil)
        #expect(ICECredentials(fragment: "abcd" + character, password: password) == nil)
        #expect(ICECredentials(fragment: "abcd", password: password + character) == nil)
    }
}
