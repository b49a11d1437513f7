import Glibc
import HTTP
import Posix
import Time

/// The certificate of `--https`: made once, self-signed, and kept in a file of this user's, so that a browser that was told to trust it
/// recognizes it.
struct OwnCertificate {
    /// Seconds before its end from which a start replaces it: a process serves it for as long as it runs, and has no files by then.
    private static let renewalTime = 366 * 24 * 3600

    private let folder: StateFolder
    let path: String

    /// - Parameter environment: finds a variable.
    init(environment: (String) -> String? = { getenv($0).map { String(cString: $0) } }) throws(Failure) {
        folder = try StateFolder(for: "the certificate of --https", environment: environment)
        path = "\(folder.path)/https.pem"
    }

    /// The certificate in the file; another one if there is none, or if that ends within a year.
    ///
    /// - Parameter now: seconds since 1970.
    /// - Throws: a sentence if the file is damaged or open to others, or none can be written. It stays as it was.
    func identity(now: Int = Int(MonotonicClock.wallClock() / 1_000_000_000)) throws -> TLSIdentity {
        if let found = try load() {
            if found.expiresAt > now + Self.renewalTime { return found }
            try make { rename($0, path) }
        } else {
            // Another process may just have made one: that one counts.
            try make { link($0, path) == 0 || errno == EEXIST ? 0 : -1 }
        }
        guard let made = try load() else { throw OutputFile.failure(path, SystemError("open", code: ENOENT).reason) }
        return made
    }

    private func load() throws(Failure) -> TLSIdentity? {
        do throws(SystemError) {
            let info = try FileDescriptor.open(path, O_RDONLY | O_NONBLOCK).status()
            guard info.st_mode & S_IFMT == S_IFREG, info.st_uid == geteuid(), info.st_mode & 0o077 == 0 else {
                throw SystemError("open", code: EPERM)
            }
        } catch {
            if error.code == ENOENT { return nil }
            let advice = "make it a file that only you can read (chmod 600)"
            throw Failure(.failed, "cannot use \(path), which holds the key of --https (\(error.reason)): \(advice)")
        }
        do { return try TLSIdentity(selfSigned: path) } catch {
            throw Failure(.failed, "\(path) is damaged: remove it, and --https makes another certificate")
        }
    }

    /// - Parameter place: gives a file the name `path`; returns 0, or -1 with `errno`.
    private func make(_ place: (String) -> Int32) throws {
        guard let made = SelfSignedCertificate(for: Self.names, addresses: Self.addresses) else {
            throw Failure(.failed, "no certificate can be made for --https: see whether OpenSSL is in order")
        }
        folder.make()
        let part = "\(path).\(getpid()).part"
        defer { unlink(part) }
        do throws(SystemError) {
            try OutputFile.openNew(part).write(made.pem)
            try check("rename") { place(part) }
        } catch {
            throw OutputFile.failure(path, error.reason)
        }
    }

    /// The names by which other machines reach this one: its host name, also by mDNS (RFC 6762), and localhost.
    private static var names: [String] {
        var bytes = [CChar](repeating: 0, count: 256)
        gethostname(&bytes, bytes.count - 1)
        let host = String(decoding: bytes.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return ["localhost"] + (host.isEmpty || host == "localhost" ? [] : [host, "\(host).local"])
    }

    private static var addresses: [String] { ["127.0.0.1", "::1"] + localAddresses().map(\.host) }
}
