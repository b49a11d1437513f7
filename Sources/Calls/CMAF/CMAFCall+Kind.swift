import HTTP
import JSON
import Media

extension CMAFCall {
    package static let kind = "cmaf"
    /// The names of settings: a `PushSettings` as JSON, and a bearer token.
    package static let pushSetting = "push"
    package static let tokenSetting = "pushToken"
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
        var plan = CallPlan(CMAFCall.kind, "cmaf+\(endpoint.summary)", argument: "cmaf+\(endpoint)") { settings in
            let push: PushSettings
            do {
                push = try settings.texts[CMAFCall.pushSetting].map { try PushSettings(jsonLine: $0) } ?? .init()
            } catch {
                throw CallEnd(.failed, "the settings of the push cannot be read: give them again")
            }
            if let problem = push.problem { throw CallEnd(.failed, "\(problem)") }
            let token = settings.texts[CMAFCall.tokenSetting]
            guard token.map(BearerToken.isOne) ?? true else {
                throw CallEnd(.failed, "the token of the server has characters that no bearer token has")
            }
            let current: @Sendable () -> String? = { settings.current()[CMAFCall.tokenSetting] }
            return { host in try CMAFCall(to: endpoint, push, token: token == nil ? nil : current, in: host) }
        }
        plan.server = "\(endpoint.origin)"
        return plan
    }
}
