/// The address of a receiver of plain RTP, as people write it: `rtp://HOST:PORT` or `rtp://[IPV6]:PORT`.
///
/// RTCP goes to the port after that of RTP (RFC 3550 §11), whether that is even or odd.
package struct RTPDestination: Equatable, Sendable, CustomStringConvertible {
    package enum ParseError: Error, Equatable, CustomStringConvertible {
        case notRTP(String)
        case emptyHost(String)
        case invalidHost(String)
        case missingPort(String)
        case portOutOfRange(String)
        case trailingText(String)

        package var description: String {
            switch self {
            case .notRTP(let text): "\(text) is not an RTP address: write rtp://HOST:PORT"
            case .emptyHost(let text): "\(text) names no host: write rtp://HOST:PORT"
            case .invalidHost(let text):
                "the host in \(text) is not a name or an address: write an IPv6 address in brackets, as in rtp://[::1]:5004"
            case .missingPort(let text): "\(text) names no port: write rtp://HOST:PORT, such as rtp://HOST:5004"
            case .portOutOfRange(let port):
                "port \(port) is not in 1…65534: choose another, and leave the one after it to RTCP"
            case .trailingText(let text): "an RTP address ends with the port: remove what follows it in \(text)"
            }
        }
    }

    /// A name or an address, without brackets.
    package let host: String
    /// 1…65534.
    package let port: UInt16

    package init(parsing text: String) throws(ParseError) {
        let scheme = "rtp://"
        guard text.utf8.count >= scheme.utf8.count, text.prefix(scheme.count).lowercased() == scheme else {
            throw .notRTP(text)
        }
        let rest = text.dropFirst(scheme.count)
        let host: Substring
        let afterHost: Substring
        if rest.first == "[" {
            guard let close = rest.firstIndex(of: "]") else { throw .invalidHost(text) }
            host = rest[rest.index(after: rest.startIndex)..<close]
            afterHost = rest[rest.index(after: close)...]
            if host.isEmpty { throw .emptyHost(text) }
            guard host.contains(":"), host.allSatisfy(Self.isInIPv6Literal) else { throw .invalidHost(text) }
            guard afterHost.isEmpty || afterHost.first == ":" else { throw .trailingText(String(afterHost)) }
        } else {
            host = rest.prefix { $0 != ":" && $0 != "/" }
            afterHost = rest[host.endIndex...]
            if host.isEmpty { throw .emptyHost(text) }
            guard host.allSatisfy(Self.isInName) else { throw .invalidHost(text) }
        }
        guard afterHost.first == ":" else { throw .missingPort(text) }
        let digits = afterHost.dropFirst().prefix { $0.isASCII && $0.isNumber }
        let junk = afterHost.dropFirst()[digits.endIndex...]
        if junk.contains(":") && rest.first != "[" { throw .invalidHost(text) }
        if digits.isEmpty { throw .missingPort(text) }
        guard junk.isEmpty else { throw .trailingText(String(junk)) }
        guard let port = UInt16(digits), 1...65534 ~= port else { throw .portOutOfRange(String(digits)) }
        self.host = String(host)
        self.port = port
    }

    package var description: String { host.contains(":") ? "rtp://[\(host)]:\(port)" : "rtp://\(host):\(port)" }

    private static func isInName(_ character: Character) -> Bool {
        character.isASCII
            && (character.isLetter || character.isNumber || character == "." || character == "-"
                || character == "_")
    }

    /// Digits, and a zone such as `%eth0` after a link-local address.
    private static func isInIPv6Literal(_ character: Character) -> Bool {
        isInName(character) || character == ":" || character == "%"
    }
}
