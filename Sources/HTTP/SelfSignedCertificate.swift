internal import COpenSSL

/// A key with a self-signed certificate. A browser asks once whether to trust it.
package struct SelfSignedCertificate: Sendable {
    /// The longest lifetime that a browser accepts, even if its user trusts the certificate (Apple, "Requirements for
    /// trusted certificates in iOS 13 and macOS 10.15").
    private static let lifetime = 820 * 24 * 3600

    /// The certificate and its key, as PEM (RFC 7468).
    package let pem: String

    /// Makes a key on P-256, and a certificate for a server (RFC 5280) of these names, valid from yesterday on.
    ///
    /// - Parameters:
    ///   - names: of the machine, in letters, digits, hyphens and dots; others are left out.
    ///   - addresses: of the machine, in numbers.
    /// - Returns: nil without memory.
    package init?(for names: [String], addresses: [String]) {
        guard let key = oriel_p256_key() else { return nil }
        defer { EVP_PKEY_free(key) }
        guard let certificate = oriel_own_certificate(key, "Oriel", Self.lifetime) else { return nil }
        defer { X509_free(certificate) }
        let alternatives = names.filter(\.isHostName).map { "DNS:\($0)" } + addresses.map { "IP:\($0)" }
        guard Self.add(NID_basic_constraints, "critical,CA:FALSE", to: certificate),
            Self.add(NID_ext_key_usage, "serverAuth", to: certificate),
            Self.add(NID_subject_alt_name, alternatives.joined(separator: ","), to: certificate),
            X509_sign(certificate, key, EVP_sha256()) > 0
        else { return nil }
        guard let text = BIO_new(BIO_s_mem()) else { return nil }
        defer { BIO_free(text) }
        guard PEM_write_bio_PrivateKey(text, key, nil, nil, 0, nil, nil) == 1,
            PEM_write_bio_X509(text, certificate) == 1
        else { return nil }
        var bytes = [UInt8](repeating: 0, count: Int(BIO_ctrl_pending(text)))
        let count = BIO_read(text, &bytes, Int32(bytes.count))
        guard Int(count) == bytes.count else { return nil }
        pem = String(decoding: bytes, as: UTF8.self)
    }

    private static func add(_ extension: Int32, _ value: String, to certificate: OpaquePointer) -> Bool {
        guard let made = X509V3_EXT_conf_nid(nil, nil, `extension`, value) else { return false }
        defer { X509_EXTENSION_free(made) }
        return X509_add_ext(certificate, made, -1) == 1
    }
}
