import Testing

@testable import WebRTC

@Suite struct TrickleFragmentTests {
    /// Laid out as the example of RFC 8840 §9: credentials for all, two media descriptions.
    private let example = """
        a=ice-pwd:asd88fgpdd777uzjYhagZg\r
        a=ice-ufrag:8hhY\r
        m=audio 9 RTP/AVP 0\r
        a=mid:1\r
        a=candidate:1 1 UDP 2130706431 203.0.113.141 5000 typ host\r
        a=candidate:2 1 UDP 1694498815 192.0.2.3 5002 typ srflx raddr 203.0.113.141 rport 5000\r
        a=end-of-candidates\r
        m=audio 9 RTP/AVP 0\r
        a=mid:2\r
        a=candidate:3 1 UDP 2130706431 203.0.113.141 6000 typ host\r
        a=end-of-candidates\r

        """
    private let credentials = ICECredentials(fragment: "8hhY", password: "asd88fgpdd777uzjYhagZg")!

    @Test(arguments: [("1", [5000, 5002] as [UInt16]), ("2", [6000]), ("3", []), ("", [])])
    func readsTheCandidatesOfOneMediaDescription(mid: String, ports: [UInt16]) throws {
        let fragment = try TrickleFragment(parsing: example, mids: [mid])
        #expect(fragment.credentials == credentials)
        #expect(fragment.candidates.map(\.port) == ports)
        #expect(fragment.isLast)
    }

    @Test func candidatesWithoutAMediaDescriptionAreForTheOneThereIs() throws {
        let line = "a=candidate:1 1 UDP 1 192.0.2.1 5000 typ host\n"
        for text in [line, "m=video 9 UDP/TLS/RTP/SAVPF 0\n\(line)"] {
            let fragment = try TrickleFragment(parsing: text, mids: ["video0"])
            #expect(fragment == TrickleFragment(credentials: nil, candidates: fragment.candidates, isLast: false))
            #expect(fragment.candidates.map(\.port) == [5000])
        }
    }

    @Test func aRestartGivesNewCredentialsAlone() throws {
        let text = "a=ice-ufrag:ysXw\r\na=ice-pwd:vw5LmwG4y/e6dPP/zAP9Gp5k\r\n"
        let fragment = try TrickleFragment(parsing: text, mids: ["0"])
        #expect(fragment.credentials == ICECredentials(fragment: "ysXw", password: "vw5LmwG4y/e6dPP/zAP9Gp5k"))
        #expect(fragment.candidates.isEmpty)
        #expect(!fragment.isLast)
    }

    @Test func nothingIsAFragmentToo() throws {
        let nothing = TrickleFragment(credentials: nil, candidates: [], isLast: false)
        #expect(try TrickleFragment(parsing: "", mids: ["0"]) == nothing)
        #expect(try TrickleFragment(parsing: "a=ice-ufrag:8hhY\r\n", mids: ["0"]) == nothing)
    }

    @Test func whatIsPrintedReadsBackTheSame() throws {
        let candidates = [
            Candidate(foundation: "1", priority: 5, address: "192.0.2.1", port: 5000, kind: .host),
            Candidate(
                foundation: "2",
                priority: 4,
                address: "2001:db8::1",
                port: 5001,
                kind: .serverReflexive,
                related: .init(address: "fe80::1", port: 5002)
            ),
        ]
        for (given, isLast) in [(credentials, true), (nil, false)] {
            let fragment = TrickleFragment(credentials: given, candidates: candidates, isLast: isLast)
            let text = fragment.description(of: ("video", "screen"))
            #expect(try TrickleFragment(parsing: text, mids: ["screen"]) == fragment)
            #expect(try TrickleFragment(parsing: text, mids: ["other"]).candidates.isEmpty)
        }
    }

    @Test(arguments: [
        ("a=ice-ufrag:abc\na=ice-pwd:asd88fgpdd777uzjYhagZg", 2, "gives no valid ICE credentials"),
        ("a=ice-pwd:short\n\na=ice-ufrag:abcd", 3, "gives no valid ICE credentials"),
        ("a=mid:0\ncandidate", 2, "is not a letter and an equals sign"),
    ])
    func malformedTextIsRefusedWithItsLine(text: String, line: Int, reason: String) {
        #expect(throws: MalformedSDP(line: line, reason: reason)) { try TrickleFragment(parsing: text, mids: ["0"]) }
    }

    @Test func candidatesThatCannotBeUsedAreSkipped() throws {
        let text = "a=candidate:\na=candidate:1 1 UDP 1 192.0.2.1 5000 typ alien\na=candidate:1 1 UDP 1 ::1 7 typ host"
        #expect(try TrickleFragment(parsing: text, mids: ["0"]).candidates.map(\.address) == ["::1"])
    }

    @Test func candidatesBeyondALimitAreSkipped() throws {
        let ports = (1...UInt16(TrickleFragment.mostCandidates + 1))
        let text = ports.map { "a=candidate:1 1 UDP 1 ::1 \($0) typ host" } + ["a=end-of-candidates"]
        let fragment = try TrickleFragment(parsing: text.joined(separator: "\n"), mids: ["0"])
        #expect(fragment.candidates.map(\.port) == Array(ports.dropLast()))
        #expect(fragment.isLast)
    }
}
