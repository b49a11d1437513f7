/// An address at which a peer may be reached (RFC 8839 §5.1), with the values for its checks.
package struct Candidate: Equatable, Sendable {
    package enum Kind: String, Sendable {
        case host, serverReflexive = "srflx", peerReflexive = "prflx", relayed = "relay"
    }

    /// At most 32 characters.
    package var foundation: String
    /// 1 for RTP. RTCP shares its transport here.
    package var component = 1
    /// `udp` or `tcp`, in lower case.
    package var transport = "udp"
    package var priority: UInt32
    /// An address in numbers, or a name, such as one with `.local` (draft-ietf-mmusic-mdns-ice-candidates-03).
    package var address: String
    package var port: UInt16
    package var kind: Kind
    /// The base address of a reflexive or relayed candidate.
    package var related: Related?

    package struct Related: Equatable, Sendable {
        package var address: String
        package var port: UInt16

        package init(address: String, port: UInt16) {
            self.address = address
            self.port = port
        }
    }
}

extension Candidate {
    package init(foundation: String, priority: UInt32, address: String, port: UInt16, kind: Kind) {
        self.init(foundation: foundation, component: 1, priority: priority, address: address, port: port, kind: kind)
    }

    /// Parses the value of a `candidate` attribute. Nil if it is malformed or of an unknown kind, which this program
    /// could not use. Extensions are skipped.
    package init?(parsing text: String) {
        let words = text.split(separator: " ").map(String.init)
        guard words.count >= 8, 1...32 ~= words[0].utf8.count, let component = Int(digits: words[1]),
            1...256 ~= component,
            let priority = UInt32(digits: words[3]), let port = UInt16(digits: words[5]), words[6] == "typ",
            let kind = Kind(rawValue: words[7]), words[4].utf8.count <= 255
        else { return nil }
        self.init(
            foundation: words[0],
            component: component,
            transport: words[2].lowercased(),
            priority: priority,
            address: words[4],
            port: port,
            kind: kind
        )
        var extensions: [String: String] = [:]
        for index in stride(from: 8, to: words.count - 1, by: 2) { extensions[words[index]] = words[index + 1] }
        if let address = extensions["raddr"], let port = extensions["rport"].flatMap({ UInt16(digits: $0) }) {
            related = Related(address: address, port: port)
        }
    }
}

extension Candidate: CustomStringConvertible {
    /// The attribute's value.
    package var description: String {
        let text = "\(foundation) \(component) \(transport) \(priority) \(address) \(port) typ \(kind.rawValue)"
        return related.map { "\(text) raddr \($0.address) rport \($0.port)" } ?? text
    }
}
