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
