import Glibc
import NIOCore
import NIOHTTP1

/// Sends one request, and receives its response.
final class ExchangeHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias OutboundOut = HTTPClientRequestPart

    private let origin: WebOrigin
    private let head: HTTPRequestHead
    private let body: [UInt8]
    private let limit: Int
    private let promise: EventLoopPromise<WebClient.Response>
    private var response: WebClient.Response?
    private var isSent = false

    init(
        _ head: HTTPRequestHead,
        body: [UInt8] = [],
        to origin: WebOrigin,
        limit: Int,
        _ promise: EventLoopPromise<WebClient.Response>
    ) {
        (self.head, self.body, self.origin, self.limit, self.promise) = (head, body, origin, limit, promise)
    }

    func handlerAdded(context: ChannelHandlerContext) { if context.channel.isActive { send(context) } }

    func channelActive(context: ChannelHandlerContext) {
        send(context)
        context.fireChannelActive()
    }

    private func send(_ context: ChannelHandlerContext) {
        if isSent { return }
        isSent = true
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        if !body.isEmpty { context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: body)))), promise: nil) }
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            // Interim responses come before the final one.
            if head.status.code < 200, head.status.code != 101 { return }
            response = WebClient.Response(
                status: Int(head.status.code),
                headers: head.headers,
                body: [],
                receivedAt: time(nil)
            )
        case .body(let bytes):
            guard let count = response?.body.count, count + bytes.readableBytes <= limit else {
                return fail(WebClientError.tooLarge(origin), context)
            }
            response?.body.append(contentsOf: bytes.readableBytesView)
        case .end:
            if let response { promise.succeed(response) }
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        promise.fail(Closed())
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { fail(error, context) }

    private func fail(_ error: any Error, _ context: ChannelHandlerContext) {
        promise.fail(error)
        context.close(promise: nil)
    }
}
