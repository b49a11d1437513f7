import Calls
package import Configuration
import Credentials
import Helpers

extension CallCredentials {
    /// The secrets for calls of a kind, each with the name of its setting, and that for people.
    private func secrets(for kind: String) -> [(setting: String, name: String, secret: Secret?)] {
        switch kind {
        case WHIPCall.kind: [("whipToken", "token", whipToken)]
        case CMAFCall.kind: [(CMAFCall.tokenSetting, "token", pushToken)]
        case JanusCall.kind:
            [
                ("janusSecret", "API secret", janusSecret), ("janusToken", "token", janusToken),
                ("janusPin", "PIN", janusPin),
            ]
        default: []
        }
    }

    /// The settings of calls of a kind now. Nothing is read for other kinds.
    package func texts(for kind: String) throws -> [String: String] {
        var texts: [String: String] = [:]
        for (setting, name, secret) in secrets(for: kind) { texts[setting] = try secret?.text(name) }
        for (setting, server) in [("whipToken", "the WHIP server"), (CMAFCall.tokenSetting, "the server of segments")] {
            guard texts[setting].map(BearerToken.isOne) ?? true else {
                throw ConfigurationError("the token of \(server) has characters that no bearer token has")
            }
        }
        return texts
    }

    /// The settings of these calls by kind, now and at any later time. Starts the readers of files: call it before the first thread starts, and
    /// before files are closed.
    ///
    /// - Parameter readerEnded: is called once for each process that cannot read its files any more.
    func renewed(
        for calls: [CallPlan],
        readerEnded: @escaping @Sendable (NamedFiles.End) -> Void
    ) throws -> [String: CallSettings] {
        var all: [String: CallSettings] = [:]
        let kinds = [
            (WHIPCall.kind, "the token"), (CMAFCall.kind, "the token"), (JanusCall.kind, "the secrets of Janus"),
        ]
        for (kind, files) in kinds where calls.contains(where: { $0.kind == kind }) {
            let (secrets, texts) = (secrets(for: kind), try texts(for: kind))
            let names = secrets.map { $0.setting }
            let current = try Secret.renewed(secrets.map { $0.secret }, names.map { texts[$0] }, files, readerEnded) {
                kind == JanusCall.kind || BearerToken.isOne($0)
            }
            all[kind] = CallSettings(texts) {
                Dictionary(uniqueKeysWithValues: zip(names, current())).compactMapValues(\.self)
            }
        }
        return all
    }
}
