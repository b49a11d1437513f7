package import HTTP
import JSON

extension WebClient.Response {
    /// The same, without the token of its request in what it says of an error.
    func hiding(_ token: String?) -> Self {
        guard let token, !token.isEmpty, status >= 400 else { return self }
        var response = self
        response.body = Array(String(decoding: body.prefix(Self.longestProblem), as: UTF8.self).hiding([token]).utf8)
        return response
    }

    /// In bytes, of what is read for a sentence.
    private static let longestProblem = 16_384

    /// What a server says of an error, after a colon: the first line of a text, or title and detail of a problem (RFC 9457 §3.1);
    /// empty for nothing.
    ///
    /// - Parameter secrets: are left out.
    package func reason(hiding secrets: [String]) -> String {
        let words: [String] =
            switch contentType {
            case "text/plain": [String(decoding: body.prefix(Self.longestProblem), as: UTF8.self)]
            case "application/problem+json":
                body.count > Self.longestProblem
                    ? [] : JSONText(body).map { [$0["title"]?.string, $0["detail"]?.string].compactMap(\.self) } ?? []
            default: []
            }
        var quotes: [String] = []
        for quote in words.map({ String(quoting: $0.hiding(secrets)) }) where !quote.isEmpty && quote != quotes.last {
            quotes.append(quote)
        }
        return quotes.map { ": \($0)" }.joined()
    }
}

extension String {
    /// In bytes, of the shortest secret that is looked for in escaped forms: a shorter one may be a word that servers say.
    private static let shortestEscaped = 12

    /// The text without secrets. Of a text that has a secret in another form, such as with escapes, nothing is left.
    func hiding(_ secrets: [String]) -> String {
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
        let json = replacing(/\\+u([0-9A-Fa-f]{4})/) { Self.scalar($0.1, 16) }
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
