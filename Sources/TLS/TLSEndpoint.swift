internal import COpenSSL

/// A key, its self-signed certificate, and the settings of all streams of a process: TLS 1.3 alone (RFC 8446), without resumption. For
/// streams on which the two sides prove afterwards that they are the right ones (`TLSStream.serverCertificate`).
package final class TLSEndpoint {
    private static let lifetime = 30 * 24 * 3600

    let context: OpaquePointer
    /// The SHA-256 of the certificate (DER), which this side shows as a server.
    package let certificate: [UInt8]

    package init() throws(TLSError) {
        guard let key = oriel_p256_key() else { throw .takeQueued(of: "EVP_EC_gen") }
        defer { EVP_PKEY_free(key) }
        // Its subject says nothing about the user.
        guard let made = oriel_own_certificate(key, "device", Self.lifetime) else { throw .takeQueued(of: "X509_new") }
        defer { X509_free(made) }
        guard X509_sign(made, key, EVP_sha256()) > 0, let digest = Self.digest(of: made) else {
            throw .takeQueued(of: "X509_sign")
        }
        guard let context = SSL_CTX_new(TLS_method()) else { throw .takeQueued(of: "SSL_CTX_new") }
        (self.context, certificate) = (context, digest)
        SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, Int(TLS1_3_VERSION), nil)
        SSL_CTX_set_num_tickets(context, 0)
        SSL_CTX_ctrl(context, SSL_CTRL_SET_SESS_CACHE_MODE, Int(SSL_SESS_CACHE_OFF), nil)
        // Many links are idle for hours.
        SSL_CTX_ctrl(context, SSL_CTRL_MODE, Int(SSL_MODE_RELEASE_BUFFERS), nil)
        guard SSL_CTX_use_certificate(context, made) == 1, SSL_CTX_use_PrivateKey(context, key) == 1 else {
            throw .takeQueued(of: "SSL_CTX_use_certificate")
        }
    }

    deinit { SSL_CTX_free(context) }

    static func digest(of certificate: OpaquePointer) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var count: UInt32 = 0
        guard X509_digest(certificate, EVP_sha256(), &bytes, &count) == 1 else { return nil }
        return Array(bytes[..<Int(count)])
    }
}
