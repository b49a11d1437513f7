import NIOCore

/// Closes a connection in two steps after `Begin` (RFC 9112 §9.6): the sending side at once, and the other when the
/// client has closed its own, or after two seconds. Closing a connection with unread bytes would reset it, and the
/// client might lose the response. Bytes that come meanwhile are dropped here, before they are parsed.
final class LingeringClose: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer

    /// An outbound event: the last response is written.
    struct Begin: Sendable {}

    private enum State {
        case open
        case closing(Scheduled<Void>)
    }

    private static let time = TimeAmount.seconds(2)
    private var state = State.open

    func triggerUserOutboundEvent(context: ChannelHandlerContext, event: Any, promise: EventLoopPromise<Void>?) {
        guard event is Begin else { return context.triggerUserOutboundEvent(event, promise: promise) }
        promise?.succeed()
        guard case .open = state else { return }
        let channel = context.channel
        state = .closing(context.eventLoop.scheduleTask(in: Self.time) { channel.cut() })
        // NIO closes all of it if the client has closed its side already.
        context.close(mode: .output, promise: nil)
        // The handlers of responses hold back reads.
        context.read()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if case .open = state { context.fireChannelRead(data) }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        context.fireChannelReadComplete()
        if case .closing = state { context.read() }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard case ChannelEvent.inputClosed = event else { return context.fireUserInboundEventTriggered(event) }
        switch state {
        case .open: context.fireUserInboundEventTriggered(event)
        case .closing: context.close(promise: nil)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        if case .closing(let timer) = state { timer.cancel() }
        context.fireChannelInactive()
    }
}
