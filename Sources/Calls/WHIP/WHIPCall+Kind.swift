import HTTP

extension WHIPCall {
    package static let kind = "whip"

    /// Whether a token has the characters of bearer tokens alone (RFC 6750 §2.1).
    package static func canBe(token: String) -> Bool {
        Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~+/=".utf8).isSuperset(of: token.utf8)
    }

    fileprivate static func token(in settings: [String: String]) throws(CallEnd) -> (@Sendable () -> String?)? {
        guard let token = settings["whipToken"] else { return nil }
        guard canBe(token: token) else {
            throw CallEnd(.failed, "the token of the WHIP server has characters that no bearer token has")
        }
        return { token }
    }
}

extension CallKind {
    /// Media servers, by WHIP (RFC 9725).
    ///
    /// - Parameter token: the current bearer token, for calls of a sender's start; nil for none. Calls added later have theirs as the setting
    ///   `whipToken`.
    package static func whip(token: (@Sendable () -> String?)? = nil) -> CallKind {
        CallKind(form: "whip+https://HOST/PATH") { text in
            guard text.lowercased().hasPrefix("whip+") else { return nil }
            guard let endpoint = WebURL(parsing: String(text.dropFirst(5))) else {
                // It may hold a secret.
                throw CallEnd(.failed, "that is no endpoint of WHIP: write whip+https://HOST/PATH, and no login in it")
            }
            var plan = CallPlan(WHIPCall.kind, "whip+\(endpoint.summary)", argument: "whip+\(endpoint)") { settings in
                let token = settings == nil ? token : try WHIPCall.token(in: settings ?? [:])
                return { host in try WHIPCall(to: endpoint, token: token, in: host) }
            }
            (plan.namesRelays, plan.server) = (true, "\(endpoint.origin)")
            return plan
        }
    }
}
