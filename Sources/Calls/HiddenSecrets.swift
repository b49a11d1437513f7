extension String {
    /// In bytes, of the shortest secret that is looked for in escaped forms: a shorter one may be a word that servers say.
    private static let shortestEscaped = 12

    /// The text without secrets. Of a text that has a secret in another form, such as with escapes, nothing is left.
    func hiding(_ secrets: [String]) -> String {
        guard !secrets.isEmpty else { return self }
        let text = secrets.reduce(self) {
            $0.split(separator: $1, omittingEmptySubsequences: false).joined(separator: "***")
        }
        let forms = text.unescapedForms
        let showsSecret = secrets.contains { secret in
            guard secret.utf8.count >= Self.shortestEscaped else { return false }
            return secret.unescapedForms.contains { wanted in forms.contains { $0.contains(wanted) } }
        }
        return showsSecret ? "***" : text
    }

    /// The letters and digits, in lower case, of the text as it is and with the escapes of URLs, JSON and HTML resolved.
    private var unescapedForms: [String] {
        let percent = replacing(/%([0-9A-Fa-f]{2})/) { Self.scalar($0.1, 16) }
        // One backslash: a pattern of several takes time by the square of their number, and those that are left are no letters.
        let json = replacing(/\\u([0-9A-Fa-f]{4})/) { Self.scalar($0.1, 16) }
        let decimal = replacing(/&#([0-9]{1,7});?/) { Self.scalar($0.1, 10) }
        let hexadecimal = replacing(/&#[xX]([0-9A-Fa-f]{1,6});?/) { Self.scalar($0.1, 16) }
        return [self, percent, json, decimal, hexadecimal].map { form in
            String(form.lowercased().filter { $0.isLetter || $0.isNumber })
        }.filter { !$0.isEmpty }
    }

    private static func scalar(_ digits: Substring, _ radix: Int) -> String {
        UInt32(digits, radix: radix).flatMap(Unicode.Scalar.init).map { String($0) } ?? ""
    }
}
