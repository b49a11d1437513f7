internal import COpenSSL

/// One side of TLS over a stream of bytes. Bytes of the network go in (`receive`) and come out (`output`); it has no socket.
///
/// Invariant: `ssl` owns the BIOs, and is freed before `ciphertext`, to which its output goes.
package final class TLSStream {
    package enum Role: Sendable { case client, server }

    package enum State: Equatable {
        case handshaking
        case open
        /// The other side has said goodbye.
        case closed
        case failed(TLSError)
    }

    package private(set) var state = State.handshaking
    /// The SHA-256 of the server's certificate (DER), as this side sees it; nil before the handshake. It is not judged here.
    package private(set) var serverCertificate: [UInt8]?
    private let endpoint: TLSEndpoint
    private let role: Role
    private let ssl: OpaquePointer
    private let input: OpaquePointer
    private let ciphertext = Ciphertext()

    package init(_ role: Role, of endpoint: TLSEndpoint) throws(TLSError) {
        guard let ssl = SSL_new(endpoint.context) else { throw .takeQueued(of: "SSL_new") }
        guard let input = BIO_new(BIO_s_mem()), let sink = ciphertext.makeBIO() else {
            SSL_free(ssl)
            throw .takeQueued(of: "BIO_new")
        }
        // An empty input is not the end: more may come.
        BIO_ctrl(input, BIO_C_SET_BUF_MEM_EOF_RETURN, -1, nil)
        SSL_set_bio(ssl, input, sink)
        (self.role, self.endpoint, self.ssl, self.input) = (role, endpoint, ssl, input)
        switch role {
        case .client:
            SSL_set_connect_state(ssl)
            shakeHands()
        case .server: SSL_set_accept_state(ssl)
        }
    }

    deinit { SSL_free(ssl) }

    /// Takes what came from the network. Then call `read` until it returns nothing.
    package func receive(_ bytes: ArraySlice<UInt8>) {
        bytes.withUnsafeBytes { _ = BIO_write(input, $0.baseAddress, Int32(clamping: $0.count)) }
        if state == .handshaking { shakeHands() }
    }

    /// Reads what the other side has written.
    ///
    /// - Returns: how many bytes; 0 if there are none now, or none will come (`state`).
    package func read(into buffer: inout [UInt8]) -> Int {
        guard state == .open else { return 0 }
        ERR_clear_error()
        let count = SSL_read(ssl, &buffer, Int32(clamping: buffer.count))
        if count > 0 { return Int(count) }
        note(SSL_get_error(ssl, count), of: "SSL_read")
        return 0
    }

    /// Writes to the other side. There is no limit: keep an eye on `output`.
    package func write(_ bytes: [UInt8]) {
        guard state == .open, !bytes.isEmpty else { return }
        ERR_clear_error()
        let count = SSL_write(ssl, bytes, Int32(clamping: bytes.count))
        if count <= 0 { note(SSL_get_error(ssl, count), of: "SSL_write") }
    }

    /// Says goodbye.
    package func close() {
        guard state == .open else { return }
        ERR_clear_error()
        SSL_shutdown(ssl)
        state = .closed
    }

    /// What waits for the network.
    package var output: ArraySlice<UInt8> { ciphertext.waiting }

    /// The network has taken bytes of the output.
    package func dropOutput(_ count: Int) { ciphertext.drop(count) }

    private func shakeHands() {
        ERR_clear_error()
        let result = SSL_do_handshake(ssl)
        guard result == 1 else { return note(SSL_get_error(ssl, result), of: "SSL_do_handshake") }
        switch role {
        case .server: serverCertificate = endpoint.certificate
        case .client:
            guard let shown = SSL_get1_peer_certificate(ssl) else { return fail("SSL_get1_peer_certificate") }
            defer { X509_free(shown) }
            serverCertificate = TLSEndpoint.digest(of: shown)
        }
        state = .open
    }

    private func note(_ error: Int32, of call: String) {
        switch error {
        case SSL_ERROR_WANT_READ: break
        case SSL_ERROR_ZERO_RETURN: state = .closed
        default: fail(call)
        }
    }

    private func fail(_ call: String) { state = .failed(.takeQueued(of: call)) }
}

/// The output of OpenSSL for a stream.
private final class Ciphertext {
    private static let slack = 1 << 18

    private var bytes: [UInt8] = []
    private var start = 0

    var waiting: ArraySlice<UInt8> { bytes[start...] }

    func drop(_ count: Int) {
        start += count
        if start == bytes.count {
            // What one burst needed is not kept for ever.
            bytes.removeAll(keepingCapacity: bytes.capacity <= Self.slack)
            start = 0
        } else if start > Self.slack {
            bytes.removeFirst(start)
            start = 0
        }
    }

    /// A BIO that appends to this output, which must outlive it.
    func makeBIO() -> OpaquePointer? {
        guard let bio = BIO_new(Self.method) else { return nil }
        BIO_set_data(bio, Unmanaged.passUnretained(self).toOpaque())
        BIO_set_init(bio, 1)
        return bio
    }

    private nonisolated(unsafe) static let method: OpaquePointer? = {  // written once, then only read
        let method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "stream")
        BIO_meth_set_write(method) { bio, bytes, count in
            let output = Unmanaged<Ciphertext>.fromOpaque(BIO_get_data(bio)).takeUnretainedValue()
            output.bytes.append(contentsOf: UnsafeRawBufferPointer(start: bytes, count: Int(count)))
            return count
        }
        BIO_meth_set_ctrl(method) { _, command, _, _ in
            // Nothing is buffered, so flushing always succeeds. No other command is supported.
            command == BIO_CTRL_FLUSH ? 1 : 0
        }
        return method
    }()
}
