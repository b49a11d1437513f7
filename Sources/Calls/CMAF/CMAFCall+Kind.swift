import HTTP

extension CMAFCall {
    static let kind = "cmaf"
    /// Of a segment, by default.
    static let length = Duration.seconds(4)
}

extension CallKind {
    /// Servers that take segments, by DASH-IF Live Media Ingest 1.2, Interface 1.
    package static let cmaf = CallKind(form: "cmaf+https://HOST/PATH/") { text throws -> CallPlan? in
        guard text.lowercased().hasPrefix("cmaf+") else { return nil }
        guard let endpoint = WebURL(parsing: String(text.dropFirst(5))), endpoint.target.hasSuffix("/"),
            !endpoint.target.contains("?")
        else {
            // It may hold a secret.
            throw CallEnd(
                .failed,
                "that is no place for segments: write cmaf+https://HOST/PATH/, with a slash at the end"
            )
        }
        var plan = CallPlan(CMAFCall.kind, "cmaf+\(endpoint.summary)", argument: "cmaf+\(endpoint)") { _ in
            { host in try CMAFCall(to: endpoint, in: host) }
        }
        plan.server = "\(endpoint.origin)"
        return plan
    }
}
