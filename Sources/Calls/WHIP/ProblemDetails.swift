package import HTTP
import JSON

extension WebClient.Response {
    /// The response without the token of its request in the text of an error.
    func hiding(_ token: String?) -> Self {
        guard let token, !token.isEmpty, status >= 400 else { return self }
        var response = self
        response.body = Array(String(decoding: body.prefix(Self.longestProblem), as: UTF8.self).hiding([token]).utf8)
        return response
    }

    /// Bytes of an error that are read.
    private static let longestProblem = 16_384

    /// The server's words about an error, after a colon: the first line of a text, or title and detail of a problem (RFC 9457 §3.1); empty
    /// without any.
    ///
    /// - Parameter secrets: hidden in the words.
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
