import Calls
import Testing

@Suite struct RTPDestinationTests {
    @Test(arguments: [
        ("rtp://127.0.0.1:5004", "127.0.0.1", 5004), ("rtp://[::1]:5004", "::1", 5004),
        ("RTP://host-1.example_x:1", "host-1.example_x", 1), ("rtp://h:65534", "h", 65534),
        ("rtp://[fe80::1%eth0]:5005", "fe80::1%eth0", 5005), ("rtp://239.255.0.1:5005", "239.255.0.1", 5005),
    ])
    func reads(text: String, host: String, port: UInt16) throws {
        let destination = try RTPDestination(parsing: text)
        #expect(destination.host == host)
        #expect(destination.port == port)
        #expect(try RTPDestination(parsing: destination.description) == destination)
    }

    @Test(
        arguments: [
            ("", .notRTP("")), ("rtp:", .notRTP("rtp:")), ("http://h:1", .notRTP("http://h:1")),
            ("127.0.0.1:5004", .notRTP("127.0.0.1:5004")), ("🇩🇪🇩🇪🇩🇪", .notRTP("🇩🇪🇩🇪🇩🇪")),
            ("rtp://", .emptyHost("rtp://")), ("rtp://:5004", .emptyHost("rtp://:5004")),
            ("rtp://[]:5004", .emptyHost("rtp://[]:5004")),
            ("rtp://host", .missingPort("rtp://host")), ("rtp://host:", .missingPort("rtp://host:")),
            ("rtp://host/", .missingPort("rtp://host/")), ("rtp://[::1]", .missingPort("rtp://[::1]")),
            ("rtp://host:x", .missingPort("rtp://host:x")), ("rtp://host:-1", .missingPort("rtp://host:-1")),
            ("rtp://host:0", .portOutOfRange("0")), ("rtp://host:65535", .portOutOfRange("65535")),
            ("rtp://host:99999999999999999999", .portOutOfRange("99999999999999999999")),
            ("rtp://host:5004/", .trailingText("/")), ("rtp://host:5004?ttl=1", .trailingText("?ttl=1")),
            ("rtp://[::1]x:5004", .trailingText("x:5004")), ("rtp://host:5004 ", .trailingText(" ")),
            ("rtp://::1:5004", .emptyHost("rtp://::1:5004")),
            ("rtp://fe80::1:5004", .invalidHost("rtp://fe80::1:5004")),
            ("rtp://[::1:5004", .invalidHost("rtp://[::1:5004")), ("rtp://[host]:1", .invalidHost("rtp://[host]:1")),
            ("rtp://user@host:1", .invalidHost("rtp://user@host:1")), ("rtp://hö:1", .invalidHost("rtp://hö:1")),
            ("rtp://a b:1", .invalidHost("rtp://a b:1")), ("rtp://host:٣", .missingPort("rtp://host:٣")),
        ] as [(String, RTPDestination.ParseError)]
    )
    func refuses(text: String, error: RTPDestination.ParseError) {
        #expect(throws: error) { try RTPDestination(parsing: text) }
    }

    @Test func errorsAreSentences() {
        #expect(
            RTPDestination.ParseError.portOutOfRange("0").description
                == "port 0 is not in 1…65534: choose another, and leave the one after it to RTCP"
        )
    }
}
