import HTTP

extension WHIPCall {
    package static let kind = "whip"
}

extension CallKind {
    /// Media servers, by WHIP (RFC 9725). The setting `whipToken` is the bearer token.
    package static let whip = CallKind(form: "whip+https://HOST/PATH") { text throws -> CallPlan? in
        guard text.lowercased().hasPrefix("whip+") else { return nil }
        guard let endpoint = WebURL(parsing: String(text.dropFirst(5))) else {
            // It may hold a secret.
            throw CallEnd(.failed, "that is no endpoint of WHIP: write whip+https://HOST/PATH, and no login in it")
        }
        var plan = CallPlan(WHIPCall.kind, "whip+\(endpoint.summary)", argument: "whip+\(endpoint)") { settings in
            let token = settings.texts["whipToken"]
            guard token.map(BearerToken.isOne) ?? true else {
                throw CallEnd(.failed, "the token of the WHIP server has characters that no bearer token has")
            }
            let current: @Sendable () -> String? = { settings.current()["whipToken"] }
            return { host in try WHIPCall(to: endpoint, token: token == nil ? nil : current, in: host) }
        }
        (plan.namesRelays, plan.server) = (true, "\(endpoint.origin)")
        return plan
    }
}
