import ArgumentParser
import Calls
import HTTP
import Helpers

/// The secrets for calls that others run.
struct CallSecrets: Sendable, Equatable {
    /// The bearer token of a WHIP server; nil for none.
    var whipToken: String?
    var janus = JanusSecrets()

    /// Whether it has the characters of bearer tokens alone (RFC 6750 §2.1).
    static func canBe(whipToken: String?) -> Bool {
        Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~+/=".utf8)
            .isSuperset(of: whipToken?.utf8 ?? "".utf8)
    }
}

/// The files of these secrets that are read again; nil for secrets that are in no file.
struct CallSecretFiles: Sendable {
    var whipToken: RenewedValue<String?>?
    var janus: RenewedValue<JanusSecrets>?
}

struct JoinedCallOptions: ParsableArguments {
    typealias JanusField = WritableKeyPath<JanusSecrets, String?> & Sendable

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
    func validate(for calls: [CallAddress]) throws {
        for (index, call) in calls.enumerated() where calls[..<index].contains(call) {
            throw ValidationError("\(call) is given twice.")
        }
        let endpoints = calls.compactMap { if case .whip(let endpoint) = $0 { endpoint.origin } else { nil } }
        if Set(endpoints).count > 1, try whipToken() != nil {
            throw ValidationError("a WHIP token is for one server: attach a sender to each.")
        }
        let servers = calls.compactMap { if case .janus(let address) = $0 { address.endpoint } else { nil } }
        if Set(servers).count > 1, try janusSecrets() != JanusSecrets() {
            throw ValidationError("secrets of Janus are for one server: attach a sender to each.")
        }
    }

    /// The secrets for a child process, as variables of its environment: everybody on the machine can read a command line.
    func secrets() throws -> [String: String] {
        let janus = try janusSecrets()
        return [
            "ORIEL_WHIP_TOKEN": try whipTokenFile == nil ? whipToken() ?? "" : "",
            "ORIEL_JANUS_SECRET": janusSecretFile == nil ? janus.apiSecret ?? "" : "",
            "ORIEL_JANUS_TOKEN": janusTokenFile == nil ? janus.token ?? "" : "",
            "ORIEL_JANUS_PIN": janusPinFile == nil ? janus.pin ?? "" : "",
        ]
    }

    /// The secrets that these calls may need. Nothing is read for others.
    func secrets(of calls: [CallAddress]) throws -> CallSecrets {
        CallSecrets(
            whipToken: try calls.contains(where: \.isWHIP) ? whipToken() : nil,
            janus: try calls.contains(where: \.isJanus) ? janusSecrets() : JanusSecrets()
        )
    }

    /// The same options for a child process, without secrets: their files are read there, each time that they are needed.
    var arguments: [String] {
        [
            whipTokenFile.map { "--whip-token-file=\($0)" }, janusSecretFile.map { "--janus-secret-file=\($0)" },
            janusTokenFile.map { "--janus-token-file=\($0)" }, janusPinFile.map { "--janus-pin-file=\($0)" },
        ]
        .compactMap(\.self)
    }

    /// Starts the readers of the secrets' files that these calls need. Call it before the first thread starts, and before files are closed.
    ///
    /// - Parameter readerEnded: is called once for each process that cannot read its files any more.
    func secretFiles(
        of calls: [CallAddress],
        readerEnded: @escaping @Sendable (NamedFiles.End) -> Void
    ) throws -> CallSecretFiles {
        var files = CallSecretFiles()
        if calls.contains(where: \.isWHIP), let whipTokenFile {
            let token = try whipToken()
            let read = try NamedFiles.open([whipTokenFile], "the token", ended: readerEnded)
            files.whipToken = RenewedValue(token, from: read) { token, files in
                if let bytes = files[0], let text = try? Self.token(from: bytes) { token = text }
            }
        }
        let janus: [(String?, any JanusField)] = [
            (janusSecretFile, \.apiSecret), (janusTokenFile, \.token), (janusPinFile, \.pin),
        ]
        let given = janus.compactMap { path, field in path.map { ($0, field) } }
        if calls.contains(where: \.isJanus), !given.isEmpty {
            let read = try NamedFiles.open(given.map(\.0), "the secrets of Janus", ended: readerEnded)
            files.janus = Self.renewed(try janusSecrets(), in: given.map(\.1), from: read)
        }
        return files
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
    private func whipToken() throws -> String? {
        try Self.checked(secret(in: whipTokenFile, or: "ORIEL_WHIP_TOKEN", "token"))
    }

    /// - Parameter bytes: of the token's file.
    static func token(from bytes: [UInt8]) throws -> String? { try checked(secret(from: bytes)) }

    private static func checked(_ token: String?) throws -> String? {
        guard CallSecrets.canBe(whipToken: token) else {
            throw ValidationError("the token of the WHIP server has characters that no bearer token has.")
        }
        return token
    }

    /// What lets this side into rooms of Janus.
    private func janusSecrets() throws -> JanusSecrets {
        JanusSecrets(
            apiSecret: try secret(in: janusSecretFile, or: "ORIEL_JANUS_SECRET", "API secret"),
            token: try secret(in: janusTokenFile, or: "ORIEL_JANUS_TOKEN", "token"),
            pin: try secret(in: janusPinFile, or: "ORIEL_JANUS_PIN", "PIN")
        )
    }
}
