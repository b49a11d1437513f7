/// coturn, a STUN and TURN server, as Debian packages it.
package final class Relay {
    /// The login that it knows, unless logins are made of a secret.
    package static let login = "u:p"

    private let folder: TemporaryDirectory
    private let process: Subprocess

    /// Where it listens, unless told otherwise.
    package static let port: UInt16 = 3478

    /// An address of this machine's own for one relay. Others may use the same ports elsewhere, and whether one is free for both UDP
    /// and TCP, and stays so, need not be asked.
    package static func loopbackAddress() -> String {
        "127.\(Int.random(in: 1...254)).\(Int.random(in: 0...255)).\(Int.random(in: 1...254))"
    }

    /// Starts it, and waits until it listens.
    ///
    /// - Parameters:
    ///   - place: where its command line runs.
    ///   - address: where it listens and relays, on port 3478 and with a certificate on 5349.
    ///   - secret: of which logins are made.
    ///   - tls: files.
    ///   - arguments: more of them.
    package init(
        _ place: ([String]) -> [String] = { $0 },
        at address: String,
        secret: String? = nil,
        tls: (key: String, certificate: String)? = nil,
        _ arguments: [String] = []
    ) throws {
        folder = try TemporaryDirectory()
        let logins =
            secret.map { ["--use-auth-secret", "--static-auth-secret", $0] } ?? [
                "--lt-cred-mech", "--user", Self.login,
            ]
        let security = tls.map { ["--pkey", $0.key, "--cert", $0.certificate] } ?? ["--no-tls"]
        process = try Subprocess(
            place(
                [
                    "turnserver", "-n", "--log-file", "stdout", "--no-cli", "--no-dtls", "--realm", "test",
                    "--listening-ip", address, "--relay-ip", address, "--pidfile", folder.file("pid"), "--userdb",
                    folder.file("db"),
                ] + logins + security + arguments
            )
        )
        try wait(until: "the relay listens: \(output)") { output.contains("Total") }
    }

    deinit { process.stop() }

    package var output: String { process.output }
}
