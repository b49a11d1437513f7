import Glibc
import HTTP
import Helpers
import Posix
import Time

/// The certificate of `--https`: made once, self-signed, and kept in a file of this user's, so that a browser that was told to trust it
/// recognizes it.
struct OwnCertificate {
    /// Seconds before its end from which a start replaces it: a process serves it for as long as it runs, and has no files by then.
    private static let renewalTime = 366 * 24 * 3600

    private let folder: StateFolder
    private let file: PrivateFile

    init(environment: (String) -> String? = StateFolder.environment) throws(StateFolder.Missing) {
        folder = try StateFolder(for: "the certificate of --https", environment: environment)
        file = PrivateFile("\(folder.path)/https.pem")
    }

    var path: String { file.path }

    /// The certificate in the file; another one if there is none, or if that ends within a year.
    ///
    /// - Parameter now: seconds since 1970.
    /// - Throws: a sentence if the file is damaged or open to others, or none can be written. It stays as it was.
    func identity(now: Int = Int(MonotonicClock.wallClock() / 1_000_000_000)) throws -> TLSIdentity {
        if let found = try load() {
            if found.expiresAt > now + Self.renewalTime { return found }
            try make(.replacing)
        } else {
            // Another process may just have made one: that one counts.
            try make(.keeping)
        }
        guard let made = try load() else { throw OutputFile.failure(path, SystemError("open", code: ENOENT).reason) }
        return made
    }

    private func load() throws(Failure) -> TLSIdentity? {
        do throws(SystemError) {
            if try file.open(refusing: 0o077) == nil { return nil }
        } catch {
            let advice = "make it a file that only you can read (chmod 600)"
            throw Failure(.failed, "cannot use \(path), which holds the key of --https (\(error.reason)): \(advice)")
        }
        do { return try TLSIdentity(selfSigned: path) } catch {
            throw Failure(.failed, "\(path) is damaged: remove it, and --https makes another certificate")
        }
    }

    private func make(_ placing: PrivateFile.Placing) throws {
        guard let made = SelfSignedCertificate(for: Self.names, addresses: Self.addresses) else {
            throw Failure(.failed, "no certificate can be made for --https: see whether OpenSSL is in order")
        }
        folder.make()
        do throws(SystemError) { try file.write(made.pem, placing) } catch {
            throw OutputFile.failure(path, error.reason)
        }
    }

    /// The names by which other machines reach this one: its host name, also by mDNS (RFC 6762), and localhost.
    private static var names: [String] {
        let host = hostName()
        return ["localhost"] + (host.isEmpty || host == "localhost" ? [] : [host, "\(host).local"])
    }

    private static var addresses: [String] { ["127.0.0.1", "::1"] + localAddresses().map(\.host) }
}
