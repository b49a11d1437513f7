import NIOCore

/// A buffer of 512 bytes to 8 kB for each read of a connection, by the size of recent reads.
///
/// NIO keeps such a buffer as long as the connection lasts, if it can. A waiting connection, as most are, needs none.
/// For it, NIO keeps the first buffer, which is the smallest.
struct ReceiveBuffers: RecvByteBufferAllocator {
    private var sizes = AdaptiveRecvByteBufferAllocator(minimum: 512, initial: 512, maximum: 8192)

    func buffer(allocator: ByteBufferAllocator) -> ByteBuffer { sizes.buffer(allocator: allocator) }

    mutating func record(actualReadBytes: Int) -> Bool {
        _ = sizes.record(actualReadBytes: actualReadBytes)
        // Together with the unannounced size, this asks for another buffer.
        return true
    }
}
