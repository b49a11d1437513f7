import NIOCore
import NIOWebSocket

/// Counts bytes that the decoder behind this handler keeps: a part of a request's head or trailer, or of a WebSocket's
/// frame. The buffer counts, whose size is a power of two. It does not shrink before all in it is whole. If the
/// beginning of a request comes in one read with the end of the one before, it counts from the next read on.
final class Intake: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private let share: ClientMemory.Share
    /// Bytes that have come and were not passed on.
    private var pending = 0
    /// The size of their buffer.
    private var capacity = 0
    /// How many of those bytes are counted.
    private var counted = 0

    /// - Parameter share: it is closed when the handler is removed.
    init(_ share: ClientMemory.Share) { self.share = share }

    func handlerRemoved(context: ChannelHandlerContext) { share.close() }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = unwrapInboundIn(data)
        let isFirst = pending == 0
        pending += bytes.readableBytes
        capacity = isFirst ? bytes.storageCapacity : max(capacity, pending.roundedUpToPowerOfTwo)
        context.fireChannelRead(data)
        // All whole parts were passed on by now.
        guard pending > 0, capacity > counted else { return }
        let more = capacity - counted
        counted = capacity
        _ = share.add(more)
    }

    /// Records a request's head, a piece of its body, or its end.
    func noteRequestPart() { passedOn(pending) }

    /// Records a whole frame.
    func note(_ frame: WebSocketFrame) {
        let size = frame.data.readableBytes
        let head = 2 + (size < 126 ? 0 : size <= UInt16.max ? 2 : 8) + (frame.maskKey == nil ? 0 : 4)
        passedOn(head + size)
    }

    private func passedOn(_ count: Int) {
        pending = max(pending - count, 0)
        guard pending == 0, counted > 0 else { return }
        share.remove(counted, isRead: false)
        counted = 0
    }
}

extension Int {
    /// For numbers above zero.
    fileprivate var roundedUpToPowerOfTwo: Int { 1 << (Int.bitWidth - (self - 1).leadingZeroBitCount) }
}
