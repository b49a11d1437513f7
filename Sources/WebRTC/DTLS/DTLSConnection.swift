internal import COpenSSL

/// One DTLS association, which makes the keys of SRTP (RFC 5764). Datagrams go in and come out; it has no socket.
///
/// OpenSSL reassembles a ClientHello that spans datagrams. Its retransmission timer reads the system's clock.
final class DTLSConnection {
    enum State {
        case handshaking
        case established(SRTPKeys)
        /// The peer said goodbye.
        case closed
        case failed(DTLSError)
    }

    /// Bytes of a datagram. A path with smaller ones is not worth a video stream.
    private static let maximumDatagramSize = 1200
    /// Bytes of the largest message in one datagram, without the record's header, the nonce and the tag (RFC 6347 §4.1,
    /// RFC 5288 §3).
    private static let largestMessage = maximumDatagramSize - 13 - 8 - 16
    /// Bytes of messages, with an overhead for each, that are kept until they are taken.
    private static let dataLimit = 65_536
    private static let messageOverhead = 64
    /// The largest record (RFC 6347 §4.1).
    private static let largestRecord = 1 << 14

    /// Microseconds until a flight without an answer is sent again; doubled each time. RFC 6347 §4.2.4 allows less than
    /// 1 s if the path is known to be faster, and ICE has just measured it.
    private static let firstTimeout: UInt32 = 50_000
    private static let longestTimeout: UInt32 = 1_000_000

    private(set) var state = State.handshaking
    private let role: DTLSRole
    private let identity: DTLSIdentity
    private let expected: [Fingerprint]
    private let ssl: OpaquePointer
    private let input: OpaquePointer
    private let output = DatagramOutput()
    private var data: [[UInt8]] = []
    private var dataSize = 0

    /// - Parameter expected: the fingerprints in the peer's session description. One of them must match its
    ///   certificate.
    init(_ role: DTLSRole, identity: DTLSIdentity, expected: [Fingerprint]) throws(DTLSError) {
        guard let ssl = SSL_new(identity.context) else { throw .takeQueued(of: "SSL_new") }
        guard let input = BIO_new(BIO_s_mem()), let sink = output.makeBIO() else {
            SSL_free(ssl)
            throw .takeQueued(of: "BIO_new")
        }
        // An empty input is not the end: more may come.
        BIO_ctrl(input, BIO_C_SET_BUF_MEM_EOF_RETURN, -1, nil)
        SSL_set_bio(ssl, input, sink)
        oriel_set_mtu(ssl, Self.maximumDatagramSize)
        DTLS_set_timer_cb(ssl) { _, timeout in
            timeout == 0 ? DTLSConnection.firstTimeout : min(timeout * 2, DTLSConnection.longestTimeout)
        }
        switch role {
        case .client: SSL_set_connect_state(ssl)
        case .server: SSL_set_accept_state(ssl)
        }
        self.role = role
        self.identity = identity
        self.expected = expected
        self.ssl = ssl
        self.input = input
    }

    deinit { SSL_free(ssl) }

    /// Begins the handshake if this side is the client.
    func start() { if role == .client { advance() } }

    func receive(_ datagram: UnsafeRawBufferPointer) {
        guard let base = datagram.baseAddress, !datagram.isEmpty else { return }
        // The rest of an earlier datagram, which OpenSSL did not read, is not part of this one.
        BIO_ctrl(input, BIO_CTRL_RESET, 0, nil)
        BIO_write(input, base, Int32(clamping: datagram.count))
        advance()
    }

    /// How long until a flight must be sent again; nil if none waits for an answer.
    var timeout: Duration? {
        guard case .handshaking = state else { return nil }
        var left = timeval()
        guard oriel_dtls_timeout(ssl, &left) == 1 else { return nil }
        return .seconds(max(left.tv_sec, 0)) + .microseconds(max(left.tv_usec, 0))
    }

    /// Sends a flight again if it is due.
    func handleTimeout() {
        guard case .handshaking = state else { return }
        ERR_clear_error()
        if oriel_dtls_handle_timeout(ssl) < 0 { state = .failed(.takeQueued(of: "DTLSv1_handle_timeout")) }
    }

    /// Says goodbye.
    func close() {
        guard case .established = state else { return }
        ERR_clear_error()
        SSL_shutdown(ssl)
        state = .closed
    }

    func takeDatagrams() -> [[UInt8]] { output.takeDatagrams() }

    /// The peer's messages since the last call, in their order.
    func takeData() -> [[UInt8]] {
        defer {
            data.removeAll()
            dataSize = 0
        }
        return data
    }

    /// Sends a message. Returns false if it does not fit into a datagram, or there is no association.
    func send(_ message: [UInt8]) -> Bool {
        guard case .established = state, 1...Self.largestMessage ~= message.count else { return false }
        ERR_clear_error()
        defer { ERR_clear_error() }
        return SSL_write(ssl, message, Int32(message.count)) == Int32(message.count)
    }

    private func advance() {
        ERR_clear_error()
        if case .handshaking = state {
            let result = SSL_do_handshake(ssl)
            if result == 1 {
                state = stateAfterHandshake()
            } else if SSL_get_error(ssl, result) != SSL_ERROR_WANT_READ {
                state = .failed(.takeQueued(of: "SSL_do_handshake"))
            }
        } else if case .established = state {
            readToEnd()
        }
    }

    /// Reads messages until none is left, or the peer says goodbye. OpenSSL answers a repeated last flight by itself.
    private func readToEnd() {
        var buffer = [UInt8](repeating: 0, count: Self.largestRecord)
        while case let count = Int(SSL_read(ssl, &buffer, Int32(buffer.count))), count > 0 {
            let size = count + Self.messageOverhead
            guard dataSize + size <= Self.dataLimit else { continue }
            dataSize += size
            data.append(Array(buffer[..<count]))
        }
        // A malformed datagram is dropped (RFC 6347 §4.1.2.7). A goodbye or a fatal alert ends the association.
        if SSL_get_shutdown(ssl) != 0 { state = .closed }
        ERR_clear_error()
    }

    /// Compares the peer's certificate with the fingerprints, and derives the keys.
    private func stateAfterHandshake() -> State {
        guard peerIsExpected() else { return .failed(.wrongFingerprint) }
        guard let selected = SSL_get_selected_srtp_profile(ssl),
            let profile = SRTPProfile(rawValue: UInt16(truncatingIfNeeded: selected.pointee.id))
        else { return .failed(.noSRTPProfile) }
        var material = [UInt8](repeating: 0, count: 2 * (profile.keySize + profile.saltSize))
        let label = "EXTRACTOR-dtls_srtp"
        let result = SSL_export_keying_material(ssl, &material, material.count, label, label.utf8.count, nil, 0, 0)
        guard result == 1 else { return .failed(.takeQueued(of: "SSL_export_keying_material")) }
        return .established(SRTPKeys(profile, material: material, role: role))
    }

    private func peerIsExpected() -> Bool {
        guard let certificate = SSL_get1_peer_certificate(ssl) else { return false }
        defer { X509_free(certificate) }
        return expected.contains { DTLSIdentity.digest(of: certificate, $0.hash) == $0 }
    }
}
