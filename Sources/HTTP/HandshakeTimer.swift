import NIOCore
import NIOTLS

/// Limits how long a handshake of TLS takes: stands behind the handler that makes it, and tells the handlers after itself of
/// `ChannelError.connectTimeout` if it is not done in time. They close the connection.
final class HandshakeTimer: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let deadline: NIODeadline
    private var timer: Scheduled<Void>?

    init(until deadline: NIODeadline) { self.deadline = deadline }

    func handlerAdded(context: ChannelHandlerContext) {
        let left = max(deadline - .now(), .zero)
        let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
        timer = context.eventLoop.scheduleTask(deadline: deadline) {
            bound.value.fireErrorCaught(ChannelError.connectTimeout(left))
        }
    }

    func handlerRemoved(context: ChannelHandlerContext) { timer?.cancel() }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if let event = event as? TLSUserEvent, case .handshakeCompleted = event { timer?.cancel() }
        context.fireUserInboundEventTriggered(event)
    }
}
