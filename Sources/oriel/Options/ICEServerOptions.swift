import ArgumentParser
import Calls
import Configuration
import Glibc
import Helpers
import ICE

/// The STUN and TURN servers by which the two sides of a call find each other.
struct ICEServerOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("STUN server for both sides of a call.", valueName: "host[:port]"),
        transform: { try STUNServer(spelling: $0) }
    )
    var stun: STUNServer?

    @Option(
        help: ArgumentHelp(
            "TURN server for both sides of a call; may be given again. The other side learns the login. A colon in the user is "
                + "written %3A. \"turns:\" before it uses TLS. ORIEL_TURN in the environment, one a line, sets them without "
                + "showing them in the list of processes.",
            valueName: "user:password@host[:port][?transport=tcp]"
        ),
        transform: { try TURNServer(spelling: $0) }
    )
    var turn: [TURNServer] = []

    @Option(
        help: ArgumentHelp(
            "A file with the secret that the TURN servers share (\"use-auth-secret\" of coturn). ORIEL_TURN_SECRET in the "
                + "environment may hold the secret instead. Logins are made of it; each lasts a day and is renewed. The file is "
                + "read again each minute, so that the secret may be renewed.",
            valueName: "file"
        )
    )
    var turnSecretFile: String?

    func validate() throws {
        let settings = try settings
        let secret = try settings.turnSecret()
        for server in settings.turn { _ = try server.credentials(secret) }
    }

    var settings: ICEServerSettings {
        get throws(ValidationError) {
            var settings = ICEServerSettings()
            settings.stun = stun
            settings.turn = try turnServers()
            settings.secret = Secret(in: turnSecretFile, or: .turnSecret)
            return settings
        }
    }

    /// The TURN servers of the command line, or else of the environment.
    private func turnServers() throws(ValidationError) -> [TURNServer] {
        if !turn.isEmpty { return turn }
        let lines = Secret.Variable.turn.text?.split(separator: "\n") ?? []
        do throws(ConfigurationError) {
            return try lines.map { line throws(ConfigurationError) in try TURNServer(spelling: String(line)) }
        } catch {
            throw ValidationError("ORIEL_TURN is not a TURN server: \(error)")
        }
    }
}

extension ICEServerSettings {
    /// The secret that logins are made of; nil for none.
    func turnSecret() throws -> TURNSecret? {
        try secret?.text("secret of the TURN servers").map { TURNSecret($0) }
    }

    /// Makes the reader that renews the secret from its file; nil if there is no file, or no server. Call it before the first thread starts,
    /// and before files are closed.
    ///
    /// - Parameter readerEnded: is called once if the file cannot be read any more.
    func file(
        of secret: TURNSecret?,
        readerEnded: @escaping @Sendable (NamedFiles.End) -> Void = { Console.note($0.sentence) }
    ) throws -> TURNSecretFile? {
        guard let secret, let path = self.secret?.path, !turn.isEmpty else { return nil }
        let files = try NamedFiles([path], "the secret of the TURN servers", ended: readerEnded)
        return TURNSecretFile(path, of: secret, by: files)
    }

    /// The servers as this machine uses them. Looking up names may take seconds.
    func servers(_ configuration: ICEAgent.Configuration, _ secret: TURNSecret?) throws -> ICEServers {
        var servers = ICEServers(configuration)
        if let stun { try servers.addSTUN(stun.name, host: stun.host, port: stun.port) }
        for turn in turn {
            let credentials = try turn.credentials(secret)
            try servers.addTURN("\(turn)", host: turn.host, port: turn.port, turn.transport, credentials)
        }
        return servers
    }

    /// `Link` values for the other side (draft-ietf-wish-whep-04 §4.6), with logins that last from now on.
    func links(_ secret: TURNSecret?) throws -> @Sendable () -> [String] {
        let stun = stun.map { ["<\($0.name)>; rel=\"ice-server\""] } ?? []
        let turn = try turn.map { ($0, try $0.credentials(secret)) }
        return { stun + turn.map { server, credentials in server.link(credentials) } }
    }
}

extension TURNServer {
    /// - Parameter secret: the secret that the server shares with this machine, of which logins are made; nil for none.
    func credentials(_ secret: TURNSecret?) throws(ValidationError) -> TURNCredentials {
        if let login { return .password(username: login.username, password: login.password) }
        if let secret { return .secret(secret, lifetime: Self.loginLifetime) }
        throw ValidationError(
            "the TURN server \(host) has no login: give USER:PASSWORD@HOST, or --turn-secret-file."
        )
    }

    /// draft-uberti-behave-turn-rest-00 §2.2 recommends a day.
    private static let loginLifetime = Duration.seconds(86_400)

    /// draft-ietf-wish-whep-04 §4.6.
    func link(_ credentials: TURNCredentials) -> String {
        let (scheme, way) = transport == .tls ? ("turns", "tcp") : ("turn", transport.rawValue)
        let (username, password) = credentials.current()
        return "<\(scheme):\(urlHost(host)):\(port)?transport=\(way)>; rel=\"ice-server\"; "
            + "username=\"\(username)\"; credential=\"\(password)\"; credential-type=\"password\""
    }
}
