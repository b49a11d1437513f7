package import Configuration
package import Helpers
package import ICE

extension ICEServerSettings {
    /// The secret that logins are made of; nil for none.
    package func turnSecret() throws -> TURNSecret? {
        try secret?.text("secret of the TURN servers").map { TURNSecret($0) }
    }

    /// Makes the reader that renews the secret from its file; nil if there is no file, or no server. Call it before the first thread starts,
    /// and before files are closed.
    package func file(
        of secret: TURNSecret?,
        readerEnded: @escaping @Sendable (NamedFiles.End) -> Void = { Console.note($0.sentence) }
    ) throws -> TURNSecretFile? {
        guard let secret, let path = self.secret?.path, !turn.isEmpty else { return nil }
        let files = try NamedFiles([path], "the secret of the TURN servers", ended: readerEnded)
        return TURNSecretFile(path, of: secret, by: files)
    }

    /// `Link` values for the other side (draft-ietf-wish-whep-04 §4.6), with logins that last from now on.
    package func links(_ secret: TURNSecret?) throws -> @Sendable () -> [String] {
        let stun = stun.map { ["<\($0.spelling)>; rel=\"ice-server\""] } ?? []
        let turn = try turn.map { ($0, try $0.credentials(secret)) }
        return { stun + turn.map { server, credentials in server.link(credentials) } }
    }
}

extension TURNServer {
    /// - Parameter secret: the secret that the server shares with this machine, of which logins are made; nil for none.
    package func credentials(_ secret: TURNSecret?) throws(ConfigurationError) -> TURNCredentials {
        if let login { return .password(username: login.username, password: login.password) }
        if let secret { return .secret(secret, lifetime: Self.loginLifetime) }
        throw ConfigurationError(
            "the TURN server \(host) has no login: give USER:PASSWORD@HOST, or --turn-secret-file"
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
