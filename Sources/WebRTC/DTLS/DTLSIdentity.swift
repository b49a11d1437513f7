internal import COpenSSL

/// A key, its self-signed certificate and the settings of all associations of a process: DTLS 1.2 with SRTP (RFC 5764,
/// RFC 8827 §6.5). Threads may share it.
package final class DTLSIdentity: @unchecked Sendable {  // OpenSSL counts references to a context atomically
    /// The certificate here is ECDSA on P-256. The suites with RSA serve peers with an RSA certificate.
    private static let cipherSuites = """
        ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:\
        ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384:\
        ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305
        """
    private static let lifetime = 30 * 24 * 3600

    let context: OpaquePointer
    package let fingerprint: Fingerprint

    package init() throws(DTLSError) {
        guard let key = oriel_p256_key() else { throw .takeQueued(of: "EVP_EC_gen") }
        defer { EVP_PKEY_free(key) }
        // Its subject says nothing about the user (RFC 8827 §6.5, RFC 8122 §5).
        guard let certificate = oriel_own_certificate(key, "WebRTC", Self.lifetime) else {
            throw .takeQueued(of: "X509_new")
        }
        defer { X509_free(certificate) }
        guard X509_sign(certificate, key, EVP_sha256()) > 0 else { throw .takeQueued(of: "X509_sign") }
        guard let digest = Self.digest(of: certificate, .sha256) else { throw .takeQueued(of: "X509_digest") }
        guard let context = SSL_CTX_new(DTLS_method()) else { throw .takeQueued(of: "SSL_CTX_new") }
        fingerprint = digest
        self.context = context
        try configure(certificate, key)
    }

    deinit { SSL_CTX_free(context) }

    private func configure(_ certificate: OpaquePointer, _ key: OpaquePointer) throws(DTLSError) {
        func check(_ call: String, _ succeeded: Bool) throws(DTLSError) {
            if !succeeded { throw .takeQueued(of: call) }
        }
        try check("SSL_CTX_use_certificate", SSL_CTX_use_certificate(context, certificate) == 1)
        try check("SSL_CTX_use_PrivateKey", SSL_CTX_use_PrivateKey(context, key) == 1)
        SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, Int(DTLS1_2_VERSION), nil)
        SSL_CTX_set_options(context, UInt64(oriel_op_no_query_mtu | oriel_op_no_renegotiation | oriel_op_no_ticket))
        // Sessions are never resumed, so none is cached.
        SSL_CTX_ctrl(context, SSL_CTRL_SET_SESS_CACHE_MODE, Int(SSL_SESS_CACHE_OFF), nil)
        try check("SSL_CTX_set_cipher_list", SSL_CTX_set_cipher_list(context, Self.cipherSuites) == 1)
        try check("SSL_CTX_set1_groups_list", oriel_set_groups(context, "X25519:P-256:P-384") == 1)
        let profiles = SRTPProfile.preferred.map(\.name).joined(separator: ":")
        try check("SSL_CTX_set_tlsext_use_srtp", SSL_CTX_set_tlsext_use_srtp(context, profiles) == 0)
        // Any certificate passes here: its fingerprint is compared after the handshake.
        SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT) { _, _ in 1 }
    }

    static func digest(of certificate: OpaquePointer, _ hash: Fingerprint.Hash) -> Fingerprint? {
        let algorithm =
            switch hash {
            case .sha256: EVP_sha256()
            case .sha384: EVP_sha384()
            case .sha512: EVP_sha512()
            }
        var bytes = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var count: UInt32 = 0
        guard X509_digest(certificate, algorithm, &bytes, &count) == 1, Int(count) == hash.size else { return nil }
        return Fingerprint(hash, Array(bytes[..<Int(count)]))
    }
}
