import NIOCore
import NIOHTTP1
import NIOSSL
import NIOWebSocket
import Posix

/// One client's connection: collects requests, within limits of size and time, and writes responses.
final class HTTPHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundIn = Never
    typealias OutboundOut = HTTPServerResponsePart

    /// Bytes of a body that are written together.
    static let pieceSize = 64 * 1024
    /// The interval of comments in a stream of events.
    static let eventInterval = TimeAmount.seconds(15)
    /// A comment, which is no event (HTML, server-sent events).
    private static let signOfLife = ":\n\n"
    /// Memory of an event besides its text.
    private static let eventCost = 256

    private enum State {
        case idle
        case receiving(HTTPRequestHead, body: [UInt8])
        /// A response is being made, and the client's bytes stay unread. The request is kept until there is a response.
        case responding(to: HTTPRequest?)
        /// Events, as long as the client may see them.
        case streaming(while: (@Sendable () -> Bool)?)
        /// The last response is written.
        case ended
    }

    private let respond: HTTPResponder
    private let connections: Connections
    private let place: Connections.Place
    private let limits: HTTPLimits
    private let memory: ClientMemory
    let intake: Intake
    private var state = State.idle
    /// Whether no request is under way, so that the connection may be closed in favour of another one.
    private var isIdle = false { didSet { isIdle ? connections.rest(place) : connections.work(place) } }
    private var timer: Scheduled<Void>?
    private var isInputClosed = false
    /// The client of the request under way, and its waiting bytes.
    private var client = ClientAddress("")
    private var waiting: ClientMemory.Share?
    /// Whether that request came by a proxy, and counts for its client.
    private var isHeld = false

    init(
        _ respond: @escaping HTTPResponder,
        _ connections: Connections,
        _ place: Connections.Place,
        _ limits: HTTPLimits,
        _ memory: ClientMemory,
        _ intake: Intake
    ) {
        self.respond = respond
        self.connections = connections
        self.place = place
        self.limits = limits
        self.memory = memory
        self.intake = intake
    }

    func channelActive(context: ChannelHandlerContext) {
        isIdle = true
        setTimer(context)
        context.fireChannelActive()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        timer?.cancel()
        isIdle = false
    }

    func channelInactive(context: ChannelHandlerContext) {
        timer?.cancel()
        endRequest()
        if case .responding(let request?) = state { request.disconnection.happen() }
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        intake.noteRequestPart()
        switch (unwrapInboundIn(data), state) {
        case (.head(let head), .idle):
            guard begin(head, context) else { return }
            guard HeadLimit.allows(head) else {
                return refuse(
                    .sentence(.requestHeaderFieldsTooLarge, "the request's header fields are too long"),
                    head,
                    context
                )
            }
            // RFC 9112 §3.2.
            guard head.version == .http1_0 || head.headers["host"].count == 1 else {
                return refuse(.sentence(.badRequest, "a request names one host"), head, context)
            }
            if let length = head.headers.first(name: "content-length").flatMap({ Int($0) }), length > limits.bodySize {
                return refuseBody(head, context)
            }
            state = .receiving(head, body: [])
            let expectations = head.headers[canonicalForm: "expect"]
            if head.version == .http1_1, expectations.contains(where: { $0.lowercased() == "100-continue" }) {
                let goOn = HTTPResponseHead(version: .http1_1, status: .continue)
                context.writeAndFlush(wrapOutboundOut(.head(goOn)), promise: nil)
            }
        case (.body(let buffer), .receiving(let head, var body)):
            state = .responding(to: nil)
            guard body.count + buffer.readableBytes <= limits.bodySize else { return refuseBody(head, context) }
            let capacity = body.capacity
            body.append(contentsOf: buffer.readableBytesView)
            guard let waiting, waiting.add(body.capacity - capacity) else { return }
            state = .receiving(head, body: body)
        case (.end, .receiving(let head, let body)):
            timer?.cancel()
            waiting?.remove(body.capacity, isRead: false)
            answer(head, body, context)
        default: break
        }
    }

    func triggerUserOutboundEvent(context: ChannelHandlerContext, event: Any, promise: EventLoopPromise<Void>?) {
        guard let line = event as? EventLine, case .streaming = state else {
            return context.triggerUserOutboundEvent(event, promise: promise)
        }
        promise?.succeed()
        send(line.text, context)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is Connections.GivenUp {
            if isIdle { context.channel.cut() }
            return
        }
        guard case ChannelEvent.inputClosed = event else { return context.fireUserInboundEventTriggered(event) }
        isInputClosed = true
        switch state {
        case .idle, .receiving: context.close(promise: nil)
        case .responding(let request): request?.disconnection.happen()
        case .ended: break
        // A client that is gone answers this with a reset. One that only sends no more continues to listen.
        case .streaming: send(Self.signOfLife, context)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // A refused or incomplete request for a WebSocket comes here like any other.
        if error is NIOWebSocketUpgradeError { return }
        // Some clients end their sending without the close_notify of TLS. While a response is made, its request is
        // whole.
        if case .responding = state, case NIOSSLError.uncleanShutdown = error { return }
        // NIO has answered it already.
        if error is HTTPParserError, isResponseComplete {
            return context.triggerUserOutboundEvent(LingeringClose.Begin(), promise: nil)
        }
        context.close(promise: nil)
    }

    /// Whether no response is unfinished.
    private var isResponseComplete: Bool {
        switch state {
        case .idle, .receiving, .ended: true
        case .responding, .streaming: false
        }
    }

    // MARK: - Responding

    /// Counts a request for its client until it is answered. If the client has too many under way, refuses it and
    /// returns false.
    private func begin(_ head: HTTPRequestHead, _ context: ChannelHandlerContext) -> Bool {
        let peer = ClientAddress(context.remoteAddress)
        client = connections.proxies.client(of: peer, forwardedFor: head.headers["x-forwarded-for"])
        waiting = memory.open(for: client, on: context.channel)
        guard connections.proxies.contains(peer) else { return true }
        isHeld = connections.hold(client)
        if !isHeld {
            let fields: HTTPHeaders = ["Retry-After": "5"]
            refuse(.sentence(.tooManyRequests, "too many requests came from there", fields), head, context)
        }
        return isHeld
    }

    private func endRequest() {
        if isHeld { connections.release(client) }
        isHeld = false
        waiting?.close()
    }

    private func answer(_ head: HTTPRequestHead, _ body: [UInt8], _ context: ChannelHandlerContext) {
        let request = HTTPRequest(head, body: body, client: client.description)
        state = .responding(to: request)
        isIdle = false
        let loop = context.eventLoop
        let bound = NIOLoopBound((self, context), eventLoop: loop)
        respond(request) { response in
            loop.execute {
                let (handler, context) = bound.value
                if context.channel.isActive { handler.write(response, to: head, context) }
            }
        }
    }

    private func write(_ response: HTTPResponse, to request: HTTPRequestHead, _ context: ChannelHandlerContext) {
        state = .responding(to: nil)
        var headers = response.headers
        let bytes: [UInt8]
        switch response.body {
        case .bytes(let whole): bytes = whole
        case .events(let hub): return stream(hub, headers, while: response.isInSight, to: request, context)
        }
        if response.status != .noContent { headers.replaceOrAdd(name: "Content-Length", value: "\(bytes.count)") }
        // After a request for another protocol, NIO's parser takes all further bytes for that protocol.
        let isLast = !request.isKeepAlive || request.headers.contains(name: "upgrade") || request.method == .CONNECT
        if isLast { headers.add(name: "Connection", value: "close") }
        let head = HTTPResponseHead(version: .http1_1, status: response.status, headers: headers)
        guard !bytes.isEmpty, request.method != .HEAD else {
            // The end lets the next request in. A client that keeps asking and never reads gets no further.
            setTimer(context)
            return context.writeAndFlush(wrapOutboundOut(.head(head))).assumeIsolated().whenSuccess { [self] in
                writeRest(of: [], while: nil, isLast: isLast, context)
            }
        }
        guard let waiting, waiting.add(response.isBodyShared ? 0 : bytes.count) else { return }
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        writeRest(of: bytes[...], while: response.isInSight, isLast: isLast, context)
    }

    /// Writes a body piece by piece, each after the one before has left, which renews the timer. The end after the last
    /// piece may let the next request in. The connection is closed if the rest must not be seen any more.
    private func writeRest(
        of body: ArraySlice<UInt8>,
        while isInSight: (@Sendable () -> Bool)?,
        isLast: Bool,
        _ context: ChannelHandlerContext
    ) {
        setTimer(context)
        guard !body.isEmpty else {
            endRequest()
            let isLast = isLast || isInputClosed
            if !isLast {
                state = .idle
                isIdle = true
            }
            let written = context.writeAndFlush(wrapOutboundOut(.end(nil)))
            let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
            guard isLast else { return }
            state = .ended
            timer?.cancel()
            written.whenComplete { _ in bound.value.triggerUserOutboundEvent(LingeringClose.Begin(), promise: nil) }
            return
        }
        if let isInSight, !isInSight() { return context.close(promise: nil) }
        let piece = ByteBuffer(bytes: body.prefix(Self.pieceSize))
        let size = piece.storageCapacity
        guard let waiting, waiting.add(size) else { return }
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        context.writeAndFlush(wrapOutboundOut(.body(.byteBuffer(piece)))).whenSuccess {
            waiting.remove(size)
            let (handler, context) = bound.value
            handler.writeRest(of: body.dropFirst(Self.pieceSize), while: isInSight, isLast: isLast, context)
        }
    }

    private func refuseBody(_ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
        refuse(.sentence(.payloadTooLarge, "the body is longer than \(limits.bodySize) bytes"), head, context)
    }

    /// Responds before the request is whole, and closes the connection.
    private func refuse(_ response: HTTPResponse, _ request: HTTPRequestHead, _ context: ChannelHandlerContext) {
        var request = request
        request.headers.replaceOrAdd(name: "Connection", value: "close")
        write(response, to: request, context)
    }

    // MARK: - Events

    private func stream(
        _ hub: EventHub,
        _ headers: HTTPHeaders,
        while isInSight: (@Sendable () -> Bool)?,
        to request: HTTPRequestHead,
        _ context: ChannelHandlerContext
    ) {
        state = .streaming(while: isInSight)
        // HTTP/1.0 has no chunks: the end of the connection ends the stream.
        let head = HTTPResponseHead(version: request.version, status: .ok, headers: headers)
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        send(hub.add(context.channel), context)
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        let task = context.eventLoop.scheduleRepeatedTask(initialDelay: Self.eventInterval, delay: Self.eventInterval) {
            _ in
            let (handler, context) = bound.value
            handler.send(Self.signOfLife, context)
        }
        context.channel.closeFuture.whenComplete { _ in task.cancel() }
    }

    /// Writes a text of a stream of events. A client that is too slow loses its connection, and so does one that may see
    /// no more of them.
    private func send(_ text: String, _ context: ChannelHandlerContext) {
        guard context.channel.isWritable else { return context.channel.cut() }
        if case .streaming(let isInSight?) = state, !isInSight() { return context.close(promise: nil) }
        let size = text.utf8.count + Self.eventCost
        guard let waiting, waiting.add(size) else { return }
        context.writeAndFlush(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: text))))).whenComplete { _ in
            waiting.remove(size)
        }
    }

    private func setTimer(_ context: ChannelHandlerContext) {
        timer?.cancel()
        let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
        timer = context.eventLoop.scheduleTask(in: TimeAmount(limits.requestTimeout)) {
            bound.value.close(promise: nil)
        }
    }
}
