import NIOCore
import NIOWebSocket
import Time

/// What a WebSocket carries (RFC 6455 §5.6): text in UTF-8, or bytes.
package enum WebSocketMessage: Sendable, Equatable {
    case text([UInt8])
    case binary([UInt8])
}

/// One end of a WebSocket. What it gets, its owner is told by the callbacks of `WebSocketOwner`.
package struct WebSocket: Sendable {
    private let channel: any Channel

    init(_ channel: any Channel) { self.channel = channel }

    /// Sends a message. The other end loses the connection if it leaves too much of them on the way.
    package func send(_ message: WebSocketMessage) {
        channel.triggerUserOutboundEvent(WebSocketHandler.Order.send(message), promise: nil)
    }

    /// Sends a close frame, and closes the connection when the other end has answered, or has not for a while.
    package func close() {
        channel.triggerUserOutboundEvent(WebSocketHandler.Order.close, promise: nil)
    }
}

/// The callbacks of a WebSocket, made on the thread of its connection.
package struct WebSocketOwner: Sendable {
    package var opened: @Sendable (WebSocket) -> Void
    package var received: @Sendable (WebSocketMessage) -> Void
    /// The WebSocket is closed. This is the last call.
    package var closed: @Sendable () -> Void

    package init(
        opened: @escaping @Sendable (WebSocket) -> Void,
        received: @escaping @Sendable (WebSocketMessage) -> Void,
        closed: @escaping @Sendable () -> Void
    ) {
        (self.opened, self.received, self.closed) = (opened, received, closed)
    }
}

/// Takes a request for a WebSocket and returns its owner. For nil, the request is answered as any other. It is called on the server's
/// thread, and must not block that.
package typealias WebSocketTaker = @Sendable (HTTPRequest) -> WebSocketOwner?

/// The frames of one WebSocket: puts messages together, answers pings, and closes as RFC 6455 §5.5.1 and §7 say.
final class WebSocketHandler: ChannelDuplexHandler {
    typealias InboundIn = WebSocketFrame
    typealias OutboundIn = Never
    typealias OutboundOut = WebSocketFrame

    enum Order: Sendable {
        case send(WebSocketMessage)
        case close
    }

    private enum State {
        case open
        /// A close frame has left, and nothing else will.
        case closing
        case closed
    }

    /// Bytes that wait for the other end at the most.
    private static let mostWaiting = 2_000_000
    /// Bytes that are read after this end's close frame has left: the other end may have sent them before it read that.
    private static let mostAfterClose = 2_000_000
    /// What a frame takes in memory beside its payload.
    private static let frameCost = 256
    /// How long the other end may take to answer a close frame.
    private static let closeTimeout = TimeAmount.seconds(3)

    private let owner: WebSocketOwner
    private let isClient: Bool
    private let messageLimit: Int
    private let share: ClientMemory.Share?
    private let intake: Intake?
    private var budget = FrameBudget()
    private var state = State.open
    /// What has come of a message that is not whole, and how much memory is counted for it.
    private var message: (opcode: WebSocketOpcode, bytes: [UInt8], counted: Int)?
    /// Bytes that were written and have not left.
    private var waiting = 0
    /// Bytes that came after this end's close frame.
    private var afterClose = 0
    private var isPongWaiting = false
    /// The payload of the newest ping, which is answered when the pong before it has left (RFC 6455 §5.5.3).
    private var nextPong: [UInt8]?

    /// - Parameters:
    ///   - isClient: whether its frames are masked (§5.3).
    ///   - messageLimit: bytes of a message that comes.
    ///   - share: of the memory of a server's clients, for what waits for this one, and messages that have not come whole; nil at a
    ///     client's end.
    ///   - intake: is told of the frames that have come whole.
    init(
        _ owner: WebSocketOwner,
        isClient: Bool,
        messageLimit: Int,
        _ share: ClientMemory.Share? = nil,
        _ intake: Intake? = nil
    ) {
        (self.owner, self.isClient, self.messageLimit) = (owner, isClient, messageLimit)
        (self.share, self.intake) = (share, intake)
    }

    func handlerAdded(context: ChannelHandlerContext) { owner.opened(WebSocket(context.channel)) }

    func channelInactive(context: ChannelHandlerContext) {
        end()
        context.fireChannelInactive()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        // The other end sends nothing any more, not even a close frame.
        if case ChannelEvent.inputClosed = event { context.close(promise: nil) }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        let code: WebSocketErrorCode? =
            switch error {
            case NIOWebSocketError.invalidFrameLength: .messageTooLarge
            case is NIOWebSocketError: .protocolError
            default: nil
            }
        if let code { close(with: code, context) } else { context.close(promise: nil) }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var frame = unwrapInboundIn(data)
        intake?.note(frame)
        guard isInBudget() else { return close(with: .policyViolation, context) }
        guard isInLimit(frame) else { return cut(context) }
        // A server takes masked frames only, and a client the others (§5.1).
        guard (frame.maskKey == nil) == isClient, !frame.rsv1, !frame.rsv2, !frame.rsv3 else {
            return close(with: .protocolError, context)
        }
        if let key = frame.maskKey { frame.data.webSocketUnmask(key) }
        switch frame.opcode {
        case .text, .binary, .continuation: receive(frame, context)
        case .ping: answer(ping: Array(frame.data.readableBytesView), context)
        case .connectionClose:
            // The other end asked for it, or has answered.
            if case .open = state { write(.connectionClose, Array(frame.data.readableBytesView.prefix(2)), context) }
            end()
            context.close(promise: nil)
        case .pong: break
        default: close(with: .protocolError, context)
        }
    }

    /// Whether a server takes one more frame now.
    private func isInBudget() -> Bool {
        guard !isClient, case .open = state else { return true }
        return budget.take(now: Instant(nanoseconds: NIODeadline.now().uptimeNanoseconds))
    }

    /// After its close frame, this end waits for that of the other end, and not for all that may come before.
    private func isInLimit(_ frame: WebSocketFrame) -> Bool {
        if case .open = state { return true }
        afterClose += frame.data.readableBytes + Self.frameCost
        return afterClose <= Self.mostAfterClose
    }

    private func receive(_ frame: WebSocketFrame, _ context: ChannelHandlerContext) {
        guard case .open = state else { return }
        let isContinuation = frame.opcode == .continuation
        guard isContinuation == (message != nil) else { return close(with: .protocolError, context) }
        var (opcode, bytes, counted) = message ?? (frame.opcode, [], 0)
        message = nil
        if counted > 0 { share?.remove(counted, isRead: false) }
        guard bytes.count + frame.data.readableBytes <= messageLimit else {
            return close(with: .messageTooLarge, context)
        }
        bytes.append(contentsOf: frame.data.readableBytesView)
        guard frame.fin else {
            counted = bytes.capacity
            guard share?.add(counted) ?? true else { return }
            return message = (opcode, bytes, counted)
        }
        if opcode == .binary { return owner.received(.binary(bytes)) }
        guard String(validating: bytes, as: UTF8.self) != nil else {
            return close(with: .dataInconsistentWithMessage, context)
        }
        owner.received(.text(bytes))
    }

    func triggerUserOutboundEvent(context: ChannelHandlerContext, event: Any, promise: EventLoopPromise<Void>?) {
        guard let order = event as? Order else {
            return context.triggerUserOutboundEvent(event, promise: promise)
        }
        promise?.succeed()
        switch order {
        case .send(let message):
            guard case .open = state else { return }
            switch message {
            case .text(let bytes): write(.text, bytes, context)
            case .binary(let bytes): write(.binary, bytes, context)
            }
        case .close: close(with: .normalClosure, context)
        }
    }

    private func close(with code: WebSocketErrorCode, _ context: ChannelHandlerContext) {
        guard case .open = state else { return }
        let number = UInt16(webSocketErrorCode: code)
        state = .closing
        write(.connectionClose, [UInt8(number >> 8), UInt8(truncatingIfNeeded: number)], context)
        let channel = context.channel
        channel.eventLoop.scheduleTask(in: Self.closeTimeout) { channel.cut() }
    }

    private func end() {
        if case .closed = state { return }
        state = .closed
        owner.closed()
    }

    /// Answers the newest ping alone while a pong waits: an end that never reads may send any number of them.
    private func answer(ping payload: [UInt8], _ context: ChannelHandlerContext) {
        guard case .open = state else { return }
        if isPongWaiting { return nextPong = payload }
        isPongWaiting = true
        write(.pong, payload, context)
    }

    private func write(_ opcode: WebSocketOpcode, _ bytes: [UInt8], _ context: ChannelHandlerContext) {
        let key = isClient ? WebSocketMaskingKey.random() : nil
        let frame = WebSocketFrame(fin: true, opcode: opcode, maskKey: key, data: ByteBuffer(bytes: bytes))
        let size = bytes.count + Self.frameCost
        // The buffer is larger than what it holds.
        let cost = frame.data.storageCapacity + Self.frameCost
        guard share?.add(cost) ?? true else { return }
        waiting += size
        context.writeAndFlush(wrapOutboundOut(frame)).assumeIsolated().whenComplete { [self] _ in
            share?.remove(cost)
            waiting -= size
            guard opcode == .pong else { return }
            isPongWaiting = false
            if let payload = nextPong.take() { answer(ping: payload, context) }
        }
        if waiting > Self.mostWaiting { cut(context) }
    }

    private func cut(_ context: ChannelHandlerContext) {
        end()
        context.channel.cut()
    }
}
