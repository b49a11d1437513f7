import NIOCore
import Testing

@testable import HTTP

@Suite struct ReceiveBuffersTests {
    /// Of what a connection reads, NIO keeps the first buffer alone.
    @Test func aConnectionThatWaitsKeepsASmallBuffer() {
        var pool = NIOPooledRecvBufferAllocator(capacity: 1, recvAllocator: ReceiveBuffers())
        var sizes: [Int] = []
        var areKept: [Bool] = []
        for _ in 0..<6 {
            var (buffer, count) = pool.buffer(allocator: ByteBufferAllocator()) { buffer in
                buffer.writeRepeatingByte(0, count: buffer.writableBytes)
            }
            pool.record(actualReadBytes: count)
            sizes.append(buffer.storageCapacity)
            areKept.append(buffer.modifyIfUniquelyOwned { _ in } == nil)
        }
        #expect(sizes == [512, 1024, 2048, 4096, 8192, 8192])
        #expect(areKept == [true, false, false, false, false, false])
    }
}
