import ArgumentParser
import Calls
import Configuration
import Credentials
import Helpers
import Publishing

struct JoinedCallOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "A file with the bearer token of the WHIP server, read again for each request, so that it may be renewed; the "
                + "environment may give one as ORIEL_WHIP_TOKEN instead.",
            valueName: "file"
        )
    )
    var whipTokenFile: String?

    @Option(
        help: ArgumentHelp(
            "A file with the API secret of the Janus server, read again for each connection, so that it may be renewed; the "
                + "environment may give one as ORIEL_JANUS_SECRET instead.",
            valueName: "file"
        )
    )
    var janusSecretFile: String?

    @Option(
        help: ArgumentHelp(
            "A file with a token for the Janus server or its room, read again likewise, which may be in ORIEL_JANUS_TOKEN instead.",
            valueName: "file"
        )
    )
    var janusTokenFile: String?

    @Option(
        help: ArgumentHelp(
            "A file with the PIN of the Janus room, read again likewise, which may be in ORIEL_JANUS_PIN instead.",
            valueName: "file"
        )
    )
    var janusPinFile: String?

    /// - Parameter calls: all calls of the sender.
    func validate(for calls: [CallPlan]) throws {
        for (index, call) in calls.enumerated() where calls[..<index].contains(call) {
            throw ValidationError("\(call) is given twice.")
        }
        func servers(_ kind: String) -> Int { Set(calls.filter { $0.kind == kind }.map(\.server)).count }
        if servers(WHIPCall.kind) > 1, try settings.currentWHIPToken() != nil {
            throw ValidationError("a WHIP token is for one server: attach a sender to each.")
        }
        if servers(JanusCall.kind) > 1, try settings.janusTexts().contains(where: { $0 != nil }) {
            throw ValidationError("secrets of Janus are for one server: attach a sender to each.")
        }
    }

    var settings: CallCredentials {
        var settings = CallCredentials()
        settings.whipToken = Secret(in: whipTokenFile, or: .whipToken)
        settings.janusSecret = Secret(in: janusSecretFile, or: .janusSecret)
        settings.janusToken = Secret(in: janusTokenFile, or: .janusToken)
        settings.janusPin = Secret(in: janusPinFile, or: .janusPin)
        return settings
    }
}

extension CallCredentials {
    /// The secrets that a call may need, by the names of its kind. Nothing is read for others.
    func secrets(of call: CallPlan) throws -> [String: String] {
        var secrets: [String: String] = [:]
        if call.kind == WHIPCall.kind { secrets["whipToken"] = try currentWHIPToken() }
        if call.kind == JanusCall.kind {
            for (name, text) in zip(["janusSecret", "janusToken", "janusPin"], try janusTexts()) {
                secrets[name] = text
            }
        }
        return secrets
    }

    /// Adds the secrets that these calls need, and starts the readers of their files. Call it before the first thread starts, and before files
    /// are closed.
    ///
    /// - Parameter readerEnded: is called once for each process that cannot read its files any more.
    func addSecrets(
        to settings: inout CallSettings,
        for calls: [CallPlan],
        readerEnded: @escaping @Sendable (NamedFiles.End) -> Void
    ) throws {
        let kinds = Set(calls.map(\.kind))
        if kinds.contains(WHIPCall.kind), let token = try currentWHIPToken() {
            let current = try Secret.renewed([whipToken], [token], "the token", readerEnded, isFit: WHIPCall.canBe)
            settings.whipToken = { current()[0] }
        }
        if kinds.contains(JanusCall.kind) {
            let secrets = [janusSecret, janusToken, janusPin]
            let current = try Secret.renewed(secrets, janusTexts(), "the secrets of Janus", readerEnded)
            settings.janusSecrets = {
                let texts = current()
                return JanusSecrets(apiSecret: texts[0], token: texts[1], pin: texts[2])
            }
        }
    }

    /// The token of the WHIP server now; nil for none.
    fileprivate func currentWHIPToken() throws -> String? {
        let token = try whipToken?.text("token")
        guard token.map(WHIPCall.canBe(token:)) ?? true else {
            throw ValidationError("the token of the WHIP server has characters that no bearer token has.")
        }
        return token
    }

    /// What lets this side into rooms of Janus: the API secret, the token and the PIN.
    fileprivate func janusTexts() throws -> [String?] {
        try [janusSecret?.text("API secret"), janusToken?.text("token"), janusPin?.text("PIN")]
    }
}
