import NIOCore
import NIOWebSocket

/// Counts the bytes of a frame that has not come whole, which the decoder behind this handler keeps.
final class WebSocketIntake: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private let share: ClientMemory.Share
    /// Bytes that have come and are not yet in a frame.
    private var pending = 0
    /// How many of them are counted.
    private var counted = 0

    init(_ share: ClientMemory.Share) { self.share = share }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        pending += unwrapInboundIn(data).readableBytes
        context.fireChannelRead(data)
        // By now all frames that are whole were told of.
        guard pending > counted else { return }
        let more = pending - counted
        counted = pending
        _ = share.add(more)
    }

    /// A frame has come whole.
    func note(_ frame: WebSocketFrame) {
        let size = frame.data.readableBytes
        let head = 2 + (size < 126 ? 0 : size <= UInt16.max ? 2 : 8) + (frame.maskKey == nil ? 0 : 4)
        pending = max(pending - head - size, 0)
        guard counted > pending else { return }
        share.remove(counted - pending, isRead: false)
        counted = pending
    }
}
