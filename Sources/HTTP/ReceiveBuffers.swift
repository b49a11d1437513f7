import NIOCore

/// A buffer of 512 bytes to 8 kB for each read of a connection, by how much comes at once.
///
/// NIO keeps such a buffer for as long as the connection lasts, where it can. One that waits, as most do, needs none: of these, NIO
/// keeps the first, which is the smallest.
struct ReceiveBuffers: RecvByteBufferAllocator {
    private var sizes = AdaptiveRecvByteBufferAllocator(minimum: 512, initial: 512, maximum: 8192)

    func buffer(allocator: ByteBufferAllocator) -> ByteBuffer { sizes.buffer(allocator: allocator) }

    mutating func record(actualReadBytes: Int) -> Bool {
        _ = sizes.record(actualReadBytes: actualReadBytes)
        // Together with the size that is not told beforehand, this asks for another buffer.
        return true
    }
}
