package import Pairing

/// A device that shows a code, as a text to photograph or to type: `oriel://192.0.2.7:53390/?at=0123456789abcdef#CODE`.
package struct PairingLink: Equatable, Sendable, CustomStringConvertible {
    private static let scheme = "oriel://"
    private static let tokenKey = "at="

    /// The host may be a name.
    package var endpoint: Endpoint
    /// Of its announcement; nil if the text does not say it.
    package let token: [UInt8]?
    package let code: PairingCode?

    package init(_ endpoint: Endpoint, token: [UInt8]?, code: PairingCode?) {
        (self.endpoint, self.token, self.code) = (endpoint, token, code)
    }

    package var description: String {
        let query = token.map { "?\(Self.tokenKey)\($0.hexadecimal)" } ?? ""
        return "\(Self.scheme)\(endpoint)/\(query)\(code.map { "#\($0.text)" } ?? "")"
    }

    /// - Returns: nil for other texts, and for one with a token or a code that is none.
    package init?(_ text: String) {
        guard text.lowercased().hasPrefix(Self.scheme) else { return nil }
        let parts = text.dropFirst(Self.scheme.count).split(
            separator: "#",
            maxSplits: 1,
            omittingEmptySubsequences: false
        )
        let place = parts[0].split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let endpoint = Endpoint(String(place[0])) else { return nil }
        var token: [UInt8]?
        if place.count == 2, !place[1].isEmpty {
            guard place[1].hasPrefix("?\(Self.tokenKey)"),
                let bytes = [UInt8](hexadecimal: String(place[1].dropFirst(1 + Self.tokenKey.count))),
                bytes.count == PairingFrame.Hello.tokenLength
            else { return nil }
            token = bytes
        }
        var code: PairingCode?
        if parts.count == 2 {
            guard let typed = PairingCode(typed: String(parts[1])) else { return nil }
            code = typed
        }
        self.init(endpoint, token: token, code: code)
    }
}
