/// Media types in fields of HTTP (RFC 9110 §8.3.1).
package enum MediaType {
    /// The type in a `Content-Type`, without its parameters, in lower case.
    package static func name(in field: String) -> String {
        field.prefix { $0 != ";" }.filter { !$0.isWhitespace }.lowercased()
    }

    /// Whether one of the ranges of an `Accept` includes a type, such as `application/sdp` (§12.5.1). Weights other
    /// than 0 are equal.
    package static func isAccepted(_ type: String, by ranges: [String]) -> Bool {
        let major = type.prefix { $0 != "/" }
        return ranges.contains { range in
            let parts = range.lowercased().split(separator: ";").map { $0.filter { !$0.isWhitespace } }
            guard let name = parts.first, !parts.dropFirst().contains(where: { $0 == "q=0" || $0 == "q=0.0" }) else {
                return false
            }
            return name == type || name == "\(major)/*" || name == "*/*"
        }
    }
}
