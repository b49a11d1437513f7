import ArgumentParser
import Calls
import Glibc
import Helpers
import ICE

/// The STUN and TURN servers by which the two sides of a call find each other.
struct ICEServerOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("STUN server for both sides of a call.", valueName: "host[:port]"),
        transform: { try STUNServer(parsing: $0) }
    )
    var stun: STUNServer?

    @Option(
        help: ArgumentHelp(
            "TURN server for both sides of a call; may be given again. The other side learns the login. A colon in the user is "
                + "written %3A. \"turns:\" before it uses TLS. ORIEL_TURN in the environment, one a line, sets them without "
                + "showing them in the list of processes.",
            valueName: "user:password@host[:port][?transport=tcp]"
        ),
        transform: { try TURNServer(parsing: $0) }
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
        let secret = try self.secret()
        for server in try turnServers() { _ = try server.credentials(secret) }
    }

    /// The TURN servers of the command line, or else of the environment.
    func turnServers() throws(ValidationError) -> [TURNServer] {
        if !turn.isEmpty { return turn }
        let lines = getenv("ORIEL_TURN").map { String(cString: $0).split(separator: "\n") } ?? []
        do throws(ValidationError) {
            return try lines.map { line throws(ValidationError) in try TURNServer(parsing: String(line)) }
        } catch {
            throw ValidationError("ORIEL_TURN is not a TURN server: \(error.message)")
        }
    }

    private func turnSecret() throws -> String? {
        try oriel.secret(in: turnSecretFile, or: "ORIEL_TURN_SECRET", "secret of the TURN servers")
    }

    /// The secret that logins are made of; nil for none.
    func secret() throws -> TURNSecret? { try turnSecret().map { TURNSecret($0) } }

    /// Makes the reader that renews the secret from its file; nil if there is no file, or no server. Call it before the first thread starts,
    /// and before files are closed.
    ///
    /// - Parameter readerEnded: is called once if the file cannot be read any more.
    func file(
        of secret: TURNSecret?,
        readerEnded: @escaping @Sendable (NamedFiles.End) -> Void = { Console.note($0.sentence) }
    ) throws -> TURNSecretFile? {
        guard let secret, let turnSecretFile, try !turnServers().isEmpty else { return nil }
        let files = try NamedFiles.open([turnSecretFile], "the secret of the TURN servers", ended: readerEnded)
        return TURNSecretFile(turnSecretFile, of: secret, by: files)
    }

    /// The servers as this machine uses them. Looking up names may take seconds.
    func servers(_ configuration: ICEAgent.Configuration, _ secret: TURNSecret?) throws -> ICEServers {
        var servers = ICEServers(configuration)
        if let stun { try servers.addSTUN(stun.name, host: stun.host, port: stun.port) }
        for turn in try turnServers() { try servers.add(ICEServers.Relay(turn, turn.credentials(secret))) }
        return servers
    }

    /// `Link` values for the other side (draft-ietf-wish-whep-04 §4.6), with logins that last from now on.
    func links(_ secret: TURNSecret?) throws -> @Sendable () -> [String] {
        let stun = stun.map { [$0.link] } ?? []
        let turn = try turnServers().map { ($0, try $0.credentials(secret)) }
        return { stun + turn.map { server, credentials in server.link(credentials) } }
    }

    /// The same options for a child process, without their secrets: the file of one is read there.
    var arguments: [String] {
        (stun.map { ["--stun=\($0.argument)"] } ?? []) + (turnSecretFile.map { ["--turn-secret-file=\($0)"] } ?? [])
    }

    /// The secrets for a child process, as variables of its environment: everybody on the machine can read a command line.
    func secrets() throws -> [String: String] {
        [
            "ORIEL_TURN": try turnServers().map(\.argument).joined(separator: "\n"),
            "ORIEL_TURN_SECRET": try turnSecretFile == nil ? turnSecret() ?? "" : "",
        ]
    }
}

extension ICEServers.Relay {
    fileprivate init(_ server: TURNServer, _ credentials: TURNCredentials) {
        let transport: NamedICEServer.Transport =
            switch server.transport {
            case .udp: .udp
            case .tcp: .tcp
            case .tls: .tls
            }
        self.init(server.name, host: server.host, port: server.port, transport, credentials)
    }
}
