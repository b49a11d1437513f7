import ArgumentParser
import Calls
import Configuration
import Helpers

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
        if servers(JanusCall.kind) > 1, try settings.janusSecrets() != JanusSecrets() {
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
    typealias JanusField = WritableKeyPath<JanusSecrets, String?> & Sendable

    /// The secrets that a call may need, by the names of its kind. Nothing is read for others.
    func secrets(of call: CallPlan) throws -> [String: String] {
        var secrets: [String: String] = [:]
        if call.kind == WHIPCall.kind { secrets["whipToken"] = try currentWHIPToken() }
        if call.kind == JanusCall.kind {
            let janus = try janusSecrets()
            (secrets["janusSecret"], secrets["janusToken"], secrets["janusPin"]) = (
                janus.apiSecret, janus.token, janus.pin
            )
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
            settings.whipToken = { token }
            if let path = whipToken?.path {
                let files = try NamedFiles.open([path], "the token", ended: readerEnded)
                let renewed = RenewedValue(token, from: files) { token, files in
                    if let bytes = files[0], let text = try? Self.token(from: bytes) { token = text }
                }
                settings.whipToken = { renewed.current() }
            }
        }
        if kinds.contains(JanusCall.kind) {
            let secrets = try janusSecrets()
            settings.janusSecrets = { secrets }
            let janus: [(String?, any JanusField)] = [
                (janusSecret?.path, \.apiSecret), (janusToken?.path, \.token), (janusPin?.path, \.pin),
            ]
            let given = janus.compactMap { path, field in path.map { ($0, field) } }
            if given.isEmpty { return }
            let files = try NamedFiles.open(given.map(\.0), "the secrets of Janus", ended: readerEnded)
            let renewed = Self.renewed(secrets, in: given.map(\.1), from: files)
            settings.janusSecrets = { renewed.current() }
        }
    }

    /// Secrets of Janus as files have them.
    ///
    /// - Parameters:
    ///   - secrets: those in the files now, and those that are in no file.
    ///   - fields: the secret that each file has.
    static func renewed(
        _ secrets: JanusSecrets,
        in fields: [any JanusField],
        from files: NamedFiles
    ) -> RenewedValue<JanusSecrets> {
        RenewedValue(secrets, from: files) { secrets, files in
            for (field, bytes) in zip(fields, files) {
                if let text = bytes.flatMap({ secret(from: $0) }) { secrets[keyPath: field] = text }
            }
        }
    }

    /// The token of the WHIP server now; nil for none.
    fileprivate func currentWHIPToken() throws -> String? { try Self.checked(whipToken?.text("token")) }

    /// - Parameter bytes: of the token's file.
    static func token(from bytes: [UInt8]) throws -> String? { try checked(secret(from: bytes)) }

    private static func checked(_ token: String?) throws -> String? {
        guard token.map(WHIPCall.canBe(token:)) ?? true else {
            throw ValidationError("the token of the WHIP server has characters that no bearer token has.")
        }
        return token
    }

    /// What lets this side into rooms of Janus.
    fileprivate func janusSecrets() throws -> JanusSecrets {
        JanusSecrets(
            apiSecret: try janusSecret?.text("API secret"),
            token: try janusToken?.text("token"),
            pin: try janusPin?.text("PIN")
        )
    }
}
