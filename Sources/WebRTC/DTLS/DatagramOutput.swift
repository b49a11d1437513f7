internal import COpenSSL

/// The output of OpenSSL for a DTLS association, as separate datagrams.
final class DatagramOutput {
    private(set) var datagrams: [[UInt8]] = []

    func takeDatagrams() -> [[UInt8]] { exchange(&datagrams, with: []) }

    /// A BIO that appends to this output, which must outlive it.
    func makeBIO() -> OpaquePointer? {
        guard let bio = BIO_new(Self.method) else { return nil }
        BIO_set_data(bio, Unmanaged.passUnretained(self).toOpaque())
        BIO_set_init(bio, 1)
        return bio
    }

    private nonisolated(unsafe) static let method: OpaquePointer? = {  // written once, then only read
        let method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "datagrams")
        BIO_meth_set_write(method) { bio, bytes, count in
            let output = Unmanaged<DatagramOutput>.fromOpaque(BIO_get_data(bio)).takeUnretainedValue()
            output.datagrams.append(Array(UnsafeRawBufferPointer(start: bytes, count: Int(count))))
            return count
        }
        BIO_meth_set_ctrl(method) { _, command, _, _ in
            // Nothing is buffered, so flushing always succeeds. No other command is supported.
            command == BIO_CTRL_FLUSH ? 1 : 0
        }
        return method
    }()
}
