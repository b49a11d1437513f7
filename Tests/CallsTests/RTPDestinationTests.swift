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
            ("", .notRTP), ("rtp:", .notRTP), ("http://h:1", .notRTP), ("127.0.0.1:5004", .notRTP), ("🇩🇪🇩🇪🇩🇪", .notRTP),
            ("rtp://", .noHost), ("rtp://:5004", .noHost), ("rtp://[]:5004", .noHost), ("rtp://::1:5004", .noHost),
            ("rtp://host", .noPort), ("rtp://host:", .noPort), ("rtp://host/", .noPort), ("rtp://[::1]", .noPort),
            ("rtp://host:x", .noPort), ("rtp://host:-1", .noPort), ("rtp://host:٣", .noPort),
            ("rtp://host:0", .port("0")), ("rtp://host:65535", .port("65535")),
            ("rtp://host:99999999999999999999", .port("99999999999999999999")),
            ("rtp://host:5004/", .trailing("/")), ("rtp://host:5004?ttl=1", .trailing("?ttl=1")),
            ("rtp://[::1]x:5004", .trailing("x:5004")), ("rtp://host:5004 ", .trailing(" ")),
            ("rtp://fe80::1:5004", .badHost), ("rtp://[::1:5004", .badHost), ("rtp://[host]:1", .badHost),
            ("rtp://user@host:1", .badHost), ("rtp://hö:1", .badHost), ("rtp://a b:1", .badHost),
        ] as [(String, Flaw)]
    )
    func refuses(text: String, flaw: Flaw) {
        #expect(throws: CallEnd(.failed, flaw.sentence(on: text))) { try RTPDestination(parsing: text) }
    }

    @Test func errorsAreSentences() {
        let sentence = "port 0 is not in 1…65534: choose another, and leave the one after it to RTCP"
        #expect(throws: CallEnd(.failed, sentence)) { try RTPDestination(parsing: "rtp://h:0") }
    }

    enum Flaw: Sendable {
        case notRTP, noHost, badHost, noPort
        case port(String), trailing(String)

        func sentence(on text: String) -> String {
            switch self {
            case .notRTP: "\(text) is not an RTP address: write rtp://HOST:PORT"
            case .noHost: "\(text) names no host: write rtp://HOST:PORT"
            case .badHost:
                "the host in \(text) is not a name or an address: write an IPv6 address in brackets, as in rtp://[::1]:5004"
            case .noPort: "\(text) names no port: write rtp://HOST:PORT, such as rtp://HOST:5004"
            case .port(let port): "port \(port) is not in 1…65534: choose another, and leave the one after it to RTCP"
            case .trailing(let rest): "an RTP address ends with the port: remove what follows it in \(rest)"
            }
        }
    }
}
