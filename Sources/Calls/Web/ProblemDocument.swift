import HTTP
import JSON
import NIOHTTP1

/// A refusal for programs that ask for JSON (RFC 9457, "Problem Details for HTTP APIs").
private struct ProblemDocument: Encodable {
    let type = "about:blank"
    let title: String
    let status: Int
    let detail: String
    /// As in `Oriel-Reason`.
    let reason: String?
}

extension HTTPResponse {
    private static let problemType = "application/problem+json"

    /// The same refusal as a document, if the client names that type or `application/json` among those that it accepts.
    func asProblem(for request: HTTPRequest) -> HTTPResponse {
        let isRefusal = status.code >= 400 && headers.first(name: "content-type")?.hasPrefix("text/plain") ?? false
        let accepted = headers(of: request)
        guard isRefusal, accepted.contains(where: { $0 == Self.problemType || $0 == "application/json" }),
            case .bytes(let sentence) = body
        else { return self }
        let document = ProblemDocument(
            title: status.reasonPhrase,
            status: Int(status.code),
            detail: String(decoding: sentence, as: UTF8.self).split(whereSeparator: \.isNewline).joined(separator: " "),
            reason: headers.first(name: "oriel-reason")
        )
        guard let json = try? document.jsonLine() else { return self }
        var response = self
        response.headers.replaceOrAdd(name: "Content-Type", value: Self.problemType)
        response.body = .bytes(Array("\(json)\n".utf8))
        return response
    }

    /// The types that a client accepts, without their parameters.
    private func headers(of request: HTTPRequest) -> [String] {
        request.headers[canonicalForm: "accept"].map { range in
            range.prefix { $0 != ";" }.filter { !$0.isWhitespace }.lowercased()
        }
    }
}
