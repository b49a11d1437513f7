import ArgumentParser
import Configuration
import Credentials

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
        do throws(ConfigurationError) {
            for server in settings.turn { _ = try server.credentials(secret) }
        } catch {
            throw ValidationError("\(error)")
        }
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
