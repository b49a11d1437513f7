/// A URL on a web server (RFC 3986): `http://HOST:PORT/PATH?QUERY`, or the same with `https`.
package struct WebURL: Hashable, Sendable, CustomStringConvertible {
    package let origin: WebOrigin
    /// Path and query, with percent escapes; begins with a slash.
    package let target: String

    /// Nil for anything else. The fragment after a `#` is left out.
    package init?(parsing text: String) {
        guard let scheme = text.firstRange(of: "://") else { return nil }
        let end = text[scheme.upperBound...].firstIndex { "/?#".contains($0) } ?? text.endIndex
        guard let origin = WebOrigin(parsing: String(text[..<end])), Self.isClean(text[end...]) else { return nil }
        let rest = text[end...].prefix { $0 != "#" }
        self.init(origin, rest.hasPrefix("/") ? String(rest) : "/\(rest)")
    }

    private init(_ origin: WebOrigin, _ target: String) { (self.origin, self.target) = (origin, target) }

    /// Whether it has no character that ends a line of HTTP, or that no URL has.
    private static func isClean(_ text: some StringProtocol) -> Bool {
        text.utf8.allSatisfy { 0x21...0x7E ~= $0 && $0 != UInt8(ascii: "\\") }
    }

    /// The URL of a reference from this one, for example in a `Location` (§5.2); nil if it is malformed, or of another
    /// scheme.
    package func resolving(_ reference: String) -> WebURL? {
        let colon = reference.firstIndex(of: ":"), stop = reference.firstIndex { "/?#".contains($0) }
        if let colon, stop.map({ colon < $0 }) ?? true { return WebURL(parsing: reference) }
        if reference.hasPrefix("//") { return WebURL(parsing: "\(origin.scheme.rawValue):\(reference)") }
        guard Self.isClean(reference) else { return nil }
        let text = reference.prefix { $0 != "#" }
        if text.isEmpty { return self }
        let path = target.prefix { $0 != "?" }
        if text.hasPrefix("?") { return WebURL(origin, "\(path)\(text)") }
        let merged = text.hasPrefix("/") ? "\(text)" : "\(path[...path.lastIndex(of: "/")!])\(text)"
        let query = merged.firstIndex(of: "?") ?? merged.endIndex
        return WebURL(origin, "\(Self.withoutDots(merged[..<query]))\(merged[query...])")
    }

    /// Removes dot segments (§5.2.4).
    private static func withoutDots(_ path: Substring) -> String {
        var kept: [Substring] = []
        let parts = path.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
        for (index, part) in parts.enumerated() {
            let isLast = index == parts.count - 1
            switch part {
            case ".": if isLast { kept.append("") }
            case "..":
                kept = kept.dropLast()
                if isLast { kept.append("") }
            default: kept.append(part)
            }
        }
        return "/" + kept.joined(separator: "/")
    }

    package var description: String { "\(origin)\(target)" }

    /// For people who may not know it: the origin, and the beginning of the path. The rest may hold a secret, such as
    /// the key of a stream.
    package var summary: String {
        let start = target.prefix { $0 != "?" }.prefix(5)
        return start == target ? description : "\(origin)\(start)…"
    }

    /// The parts of path and query that `summary` does not show, as they may be secrets. Parts of less than four bytes
    /// are left out, as they are not secret.
    package var secrets: [String] {
        let shown = target.prefix { $0 != "?" }.prefix(5)
        return target.split { "/?&=".contains($0) }.filter { $0.endIndex > shown.endIndex && $0.utf8.count >= 4 }.map(
            String.init
        )
    }
}
