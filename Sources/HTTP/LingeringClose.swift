import NIOCore

/// Closes a connection in two steps when it is told to by `Begin` (RFC 9112 §9.6): the side that is written at once, and the other when the
/// client has closed its own, or after two seconds. To close a connection with unread bytes resets it, and the client may then lose the
/// response. Bytes that come meanwhile are dropped here, before they are parsed.
final class LingeringClose: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer

    /// An outbound event: the last response is written.
    struct Begin: Sendable {}

    private enum State {
        /// - isInputClosed: whether the client has said that no more comes.
        case open(isInputClosed: Bool)
        case closing(Scheduled<Void>)
    }

    private static let time = TimeAmount.seconds(2)
    private var state = State.open(isInputClosed: false)

    func triggerUserOutboundEvent(context: ChannelHandlerContext, event: Any, promise: EventLoopPromise<Void>?) {
        guard event is Begin else { return context.triggerUserOutboundEvent(event, promise: promise) }
        promise?.succeed()
        guard case .open(let isInputClosed) = state else { return }
        if isInputClosed { return context.close(promise: nil) }
        let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
        state = .closing(context.eventLoop.scheduleTask(in: Self.time) { bound.value.close(promise: nil) })
        context.close(mode: .output, promise: nil)
        // The handlers before the responses hold reads back.
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
        case .open:
            state = .open(isInputClosed: true)
            context.fireUserInboundEventTriggered(event)
        case .closing: context.close(promise: nil)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        if case .closing(let timer) = state { timer.cancel() }
        context.fireChannelInactive()
    }
}
