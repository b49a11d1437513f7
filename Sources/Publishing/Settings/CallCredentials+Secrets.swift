package import Calls
package import Configuration
import Credentials
import Helpers

extension CallCredentials {
    /// The secrets that a call may need, by the names of its kind. Nothing is read for others.
    package func secrets(of call: CallPlan) throws -> [String: String] {
        var secrets: [String: String] = [:]
        if call.kind == WHIPCall.kind { secrets["whipToken"] = try currentWHIPToken() }
        if call.kind == JanusCall.kind {
            for (name, text) in zip(["janusSecret", "janusToken", "janusPin"], try janusTexts()) {
                secrets[name] = text
            }
        }
        return secrets
    }

    /// The token of the WHIP server at any later time, and those of Janus likewise, if these calls need them. Starts the readers of their
    /// files: call it before the first thread starts, and before files are closed.
    ///
    /// - Parameter readerEnded: is called once for each process that cannot read its files any more.
    func renewed(
        for calls: [CallPlan],
        readerEnded: @escaping @Sendable (NamedFiles.End) -> Void
    ) throws -> (token: (@Sendable () -> String?)?, secrets: @Sendable () -> JanusSecrets) {
        let kinds = Set(calls.map(\.kind))
        var token: (@Sendable () -> String?)?
        if kinds.contains(WHIPCall.kind), let first = try currentWHIPToken() {
            let current = try Secret.renewed([whipToken], [first], "the token", readerEnded, isFit: WHIPCall.canBe)
            token = { current()[0] }
        }
        guard kinds.contains(JanusCall.kind) else { return (token, { JanusSecrets() }) }
        let secrets = [janusSecret, janusToken, janusPin]
        let current = try Secret.renewed(secrets, janusTexts(), "the secrets of Janus", readerEnded)
        return (
            token,
            {
                let texts = current()
                return JanusSecrets(apiSecret: texts[0], token: texts[1], pin: texts[2])
            }
        )
    }

    /// The token of the WHIP server now; nil for none.
    package func currentWHIPToken() throws -> String? {
        let token = try whipToken?.text("token")
        guard token.map(WHIPCall.canBe(token:)) ?? true else {
            throw ConfigurationError("the token of the WHIP server has characters that no bearer token has")
        }
        return token
    }

    /// What lets this side into rooms of Janus: the API secret, the token and the PIN.
    package func janusTexts() throws -> [String?] {
        try [janusSecret?.text("API secret"), janusToken?.text("token"), janusPin?.text("PIN")]
    }
}
