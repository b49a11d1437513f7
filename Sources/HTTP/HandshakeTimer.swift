import NIOCore
import NIOTLS

/// Limits the time of a TLS handshake. It stands behind the handler of the handshake, and sends
/// `ChannelError.connectTimeout` to the handlers after itself if the handshake takes too long. They close the
/// connection.
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
