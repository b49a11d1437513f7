import Testing

@testable import WebRTC

@Suite struct SessionDescriptionTests {
    /// The example of RFC 8866 §5.
    private let example = """
        v=0
        o=jdoe 3724394400 3724394405 IN IP4 198.51.100.1
        s=Call to John Smith
        i=SDP Offer #1
        u=http://www.jdoe.example.com/home.html
        e=Jane Doe <jane@jdoe.example.com>
        p=+1 617 555-6011
        c=IN IP4 198.51.100.1
        t=0 0
        m=audio 49170 RTP/AVP 0
        m=audio 49180 RTP/AVP 0
        m=video 51372 RTP/AVP 99
        c=IN IP6 2001:db8::2
        a=rtpmap:99 h263-1998/90000
        """

    @Test func readsTheExampleOfTheRFC() throws {
        let description = try SessionDescription(parsing: example)
        #expect(description.origin == "jdoe 3724394400 3724394405 IN IP4 198.51.100.1")
        #expect(description.attributes.isEmpty)
        #expect(
            description.media == [
                .init(kind: "audio", port: 49170, transport: "RTP/AVP", formats: ["0"]),
                .init(kind: "audio", port: 49180, transport: "RTP/AVP", formats: ["0"]),
                .init(
                    kind: "video",
                    port: 51372,
                    transport: "RTP/AVP",
                    formats: ["99"],
                    attributes: [.init("rtpmap", "99 h263-1998/90000")]
                ),
            ]
        )
    }

    @Test(arguments: Offers.names)
    func whatIsPrintedReadsBackTheSame(name: String) throws {
        let description = try Offers.description(name)
        #expect(!description.media.isEmpty)
        let printed = "\(description)"
        #expect(try SessionDescription(parsing: printed) == description)
        #expect(printed.hasSuffix("\r\n"))
        #expect(printed.split(separator: "\r\n", omittingEmptySubsequences: false).last == "")
    }

    @Test func attributesOfTheSessionAndOfEachMediumAreKeptApartAndInOrder() throws {
        let text = "v=0\r\na=group:BUNDLE 0\r\nm=video 9 P 1 x\r\na=flag\r\na=pair:a:b\r\nm=audio 0 P 2\r\na=empty:\r\n"
        let description = try SessionDescription(parsing: text)
        #expect(description.attributes == [.init("group", "BUNDLE 0")])
        #expect(description.media.map(\.formats) == [["1", "x"], ["2"]])
        #expect(description.media[0].attributes == [.init("flag"), .init("pair", "a:b")])
        #expect(description.media[1].attributes == [.init("empty", "")])
        #expect(try SessionDescription(parsing: "\(description)") == description)
    }

    @Test func linesMayEndWithoutACarriageReturnAndBeEmpty() throws {
        let offer = Offer()
        let expected = try SessionDescription(parsing: offer.text)
        #expect(try SessionDescription(parsing: offer.lines.joined(separator: "\n")) == expected)
        #expect(try SessionDescription(parsing: offer.lines.joined(separator: "\r\n\r\n")) == expected)
    }

    @Test func aPortMayHaveACount() throws {
        #expect(try SessionDescription(parsing: "v=0\nm=video 49170/2 RTP/AVP 31").media[0].port == 49170)
    }

    /// Whatever belongs to a generation of ICE changes, in the session and in each medium, and nothing else (RFC 8839 §4.4.1.1.1).
    @Test func aRestartChangesCredentialsCandidatesAndVersion() throws {
        let before = """
            v=0
            o=- 5 41 IN IP4 127.0.0.1
            a=group:BUNDLE 0 1
            a=ice-ufrag:aaaa
            a=ice-pwd:aaaaaaaaaaaaaaaaaaaaaa
            m=video 9 UDP/TLS/RTP/SAVPF 96
            a=mid:0
            a=ice-ufrag:cccc
            a=ice-pwd:cccccccccccccccccccccc
            a=candidate:1 1 udp 2015363327 192.0.2.1 1 typ host
            a=end-of-candidates
            a=setup:actpass
            m=audio 9 UDP/TLS/RTP/SAVPF 111
            a=mid:1
            a=fingerprint:sha-256 AB
            """
        let credentials = try #require(ICECredentials(fragment: "bbbb", password: "bbbbbbbbbbbbbbbbbbbbbb"))
        let line = "2 1 udp 2015363327 192.0.2.7 7 typ host"
        let candidate = try #require(Candidate(parsing: line))
        let after = try SessionDescription(parsing: before).restarted(with: credentials, [candidate])
        #expect(after.origin == "- 5 42 IN IP4 127.0.0.1" && after.mids == ["0", "1"])
        #expect(
            after.attributes.map { "\($0)" } == [
                "a=group:BUNDLE 0 1", "a=ice-ufrag:bbbb", "a=ice-pwd:bbbbbbbbbbbbbbbbbbbbbb",
            ]
        )
        let candidates = ["a=candidate:\(line)", "a=end-of-candidates"]
        #expect(
            after.media.map { $0.attributes.map { "\($0)" } } == [
                ["a=mid:0", "a=ice-ufrag:bbbb", "a=ice-pwd:bbbbbbbbbbbbbbbbbbbbbb", "a=setup:actpass"] + candidates,
                ["a=mid:1", "a=fingerprint:sha-256 AB"] + candidates,
            ]
        )
    }

    @Test(arguments: [
        ("", 1, "is not v=0"), ("\r\n", 1, "is not v=0"), ("o=- 1 1 IN IP4 127.0.0.1", 1, "is not v=0"),
        ("v=1", 1, "asks for another version than 0"), ("v=0\r\nrubbish", 2, "is not a letter and an equals sign"),
        ("v=0\r\n\r\n=x", 3, "is not a letter and an equals sign"), ("v=0\na", 2, "is not a letter and an equals sign"),
        ("v=0\ns=-\nm=video", 3, "is no media description"), ("v=0\nm=video x RTP/AVP 0", 2, "is no media description"),
        ("v=0\nm=video 65536 RTP/AVP 0", 2, "is no media description"),
        ("v=0\nm=video -1 RTP/AVP 0", 2, "is no media description"),
        ("v=0\nm=video +9 RTP/AVP 0", 2, "is no media description"),
        ("v=0\nm=video 9 RTP/AVP", 2, "is no media description"),
        ("v=0\nm=video / RTP/AVP 0", 2, "is no media description"),
        ("v=0\né=x", 2, "is not a letter and an equals sign"),
    ])
    func malformedTextIsRefusedWithItsLine(text: String, line: Int, reason: String) {
        let error = #expect(throws: MalformedSDP.self) { try SessionDescription(parsing: text) }
        #expect(error == MalformedSDP(line: line, reason: reason))
        #expect(error?.description == "line \(line) of the session description \(reason)")
    }
}
