/// The address of a receiver of plain RTP, as people write it: `rtp://HOST:PORT` or `rtp://[IPV6]:PORT`.
///
/// RTCP goes to the port after that of RTP (RFC 3550 §11), whether that is even or odd.
package struct RTPDestination: Equatable, Sendable, CustomStringConvertible {
    /// A name or an address, without brackets.
    package let host: String
    /// 1…65534.
    package let port: UInt16

    package init(parsing text: String) throws(CallEnd) {
        func no(_ sentence: String) -> CallEnd { CallEnd(.failed, sentence) }
        let noHost = no("\(text) names no host: write rtp://HOST:PORT")
        let noPort = no("\(text) names no port: write rtp://HOST:PORT, such as rtp://HOST:5004")
        let badHost = no(
            "the host in \(text) is not a name or an address: write an IPv6 address in brackets, as in rtp://[::1]:5004"
        )
        func trailing(_ rest: Substring) -> CallEnd {
            no("an RTP address ends with the port: remove what follows it in \(rest)")
        }
        guard text.prefix(6).lowercased() == "rtp://" else {
            throw no("\(text) is not an RTP address: write rtp://HOST:PORT")
        }
        let place = text.dropFirst(6)
        let isIPv6 = place.first == "["
        let host = isIPv6 ? place.dropFirst().prefix { $0 != "]" } : place.prefix { $0 != ":" && $0 != "/" }
        var rest = place[host.endIndex...]
        if isIPv6, rest.popFirst() == nil { throw badHost }
        if host.isEmpty { throw noHost }
        // A zone such as `%eth0` may follow a link-local address.
        let marks = isIPv6 ? ".-_:%" : ".-_"
        guard host.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || marks.contains($0)) }),
            !isIPv6 || host.contains(":")
        else { throw badHost }
        if isIPv6, !rest.isEmpty, rest.first != ":" { throw trailing(rest) }
        guard rest.popFirst() == ":" else { throw noPort }
        let digits = rest.prefix { $0.isASCII && $0.isNumber }
        let junk = rest[digits.endIndex...]
        if !isIPv6, junk.contains(":") { throw badHost }
        if digits.isEmpty { throw noPort }
        guard junk.isEmpty else { throw trailing(junk) }
        guard let port = UInt16(digits), 1...65534 ~= port else {
            throw no("port \(digits) is not in 1…65534: choose another, and leave the one after it to RTCP")
        }
        (self.host, self.port) = (String(host), port)
    }

    package var description: String { host.contains(":") ? "rtp://[\(host)]:\(port)" : "rtp://\(host):\(port)" }
}
