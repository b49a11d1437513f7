import NIOCore
import NIOWebSocket
import Time

/// A message of a WebSocket (RFC 6455 §5.6): text in UTF-8, or bytes.
package enum WebSocketMessage: Sendable, Equatable {
    case text([UInt8])
    case binary([UInt8])
}

/// One end of a WebSocket. Its owner gets events by the callbacks of `WebSocketOwner`.
package struct WebSocket: Sendable {
    private let channel: any Channel

    init(_ channel: any Channel) { self.channel = channel }

    /// Sends a message. If the other end reads too slowly, it loses the connection.
    package func send(_ message: WebSocketMessage) {
        channel.triggerUserOutboundEvent(WebSocketHandler.Order.send(message), promise: nil)
    }

    /// Sends a close frame, and closes the connection after the answer, or after a while without one.
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

/// Takes over a request for a WebSocket and returns its owner. If it returns nil, the request is answered like any
/// other. Called on the server's thread, it must not block.
package typealias WebSocketTaker = @Sendable (HTTPRequest) -> WebSocketOwner?

/// The frames of one WebSocket: assembles messages, answers pings, and closes as in RFC 6455 §5.5.1 and §7.
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
        /// A close frame has left, and nothing will follow it.
        case closing
        case closed
    }

    /// The most bytes that wait for the other end.
    private static let mostWaiting = 2_000_000
    /// The most bytes that are read after this end's close frame. The other end may have sent them before it read that.
    private static let mostAfterClose = 2_000_000
    /// Memory of a frame besides its payload.
    private static let frameCost = 256
    /// The client's frames at once, and the interval in which another one is accepted.
    static let frameBurst = 1000
    private static let frameInterval = Duration.milliseconds(1)
    /// The longest time for the other end's answer to a close frame.
    private static let closeTimeout = TimeAmount.seconds(3)

    private let owner: WebSocketOwner
    private let isClient: Bool
    private let messageLimit: Int
    private let share: ClientMemory.Share?
    private let intake: Intake?
    /// Pings, and fragments without payload, cost a server time and their sender next to nothing.
    private var frames = RateLimit(interval: frameInterval, slack: frameInterval * (frameBurst - 1), from: .start)
    private var state = State.open
    /// The received part of a message, and its counted memory.
    private var message: (opcode: WebSocketOpcode, bytes: [UInt8], counted: Int)?
    /// Written bytes that have not left.
    private var waiting = 0
    private var afterClose = 0
    private var isPongWaiting = false
    /// The payload of the newest ping. It is answered after the pong before it has left (RFC 6455 §5.5.3).
    private var nextPong: [UInt8]?

    /// - Parameters:
    ///   - isClient: whether its frames are masked (§5.3).
    ///   - messageLimit: bytes of a received message.
    ///   - share: of the memory of a server's clients, for bytes that wait for this one and for parts of messages; nil
    ///     at a client's end.
    ///   - intake: gets the whole frames.
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
        // A server accepts masked frames only, and a client unmasked ones (§5.1).
        guard (frame.maskKey == nil) == isClient, !frame.rsv1, !frame.rsv2, !frame.rsv3 else {
            return close(with: .protocolError, context)
        }
        if let key = frame.maskKey { frame.data.webSocketUnmask(key) }
        switch frame.opcode {
        case .text, .binary, .continuation: receive(frame, context)
        case .ping: answer(ping: Array(frame.data.readableBytesView), context)
        case .connectionClose:
            // The other end has closed, or has answered.
            if case .open = state { write(.connectionClose, Array(frame.data.readableBytesView.prefix(2)), context) }
            end()
            context.close(promise: nil)
        case .pong: break
        default: close(with: .protocolError, context)
        }
    }

    /// Whether a server accepts one more frame now.
    private func isInBudget() -> Bool {
        guard !isClient, case .open = state else { return true }
        let now = Instant(nanoseconds: NIODeadline.now().uptimeNanoseconds)
        guard frames.earliest <= now else { return false }
        frames.note(at: now)
        return true
    }

    /// After its close frame, this end waits for the other end's, but not for all frames before it.
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

    /// While a pong waits, only the newest ping is answered: an end that never reads may send any number of them.
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
        // The buffer is larger than its content.
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
