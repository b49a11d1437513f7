import Glibc
import NIOCore
package import NIOHTTP1
import NIOPosix
import NIOWebSocket
import Synchronization

/// Makes requests over HTTP/1.1, each on its own connection, and opens WebSockets, on a thread of its own. It follows
/// no redirects.
///
/// All callbacks come on that thread, and must not block it.
package final class WebClient: Sendable {
    package struct Response: Sendable, Equatable {
        package var status: Int
        package var headers: HTTPHeaders
        package var body: [UInt8]
        /// Seconds since 1970.
        package var receivedAt = 0

        /// The type of the body, without parameters, in lower case; empty if none is named.
        package var contentType: String { MediaType.name(in: headers.first(name: "content-type") ?? "") }

        /// How long the server asks to wait before the next request (`Retry-After`); nil if it does not. A date is
        /// relative to the server's own `Date`, or else to `receivedAt`.
        package var retryAfter: Duration? {
            headers.first(name: "retry-after").flatMap { field in
                let date = headers.first(name: "date").flatMap { HTTPDate.seconds(parsing: $0) }
                return RetryAfter.delay(field, answeredAt: date ?? receivedAt)
            }
        }
    }

    package struct Pending: Sendable {
        fileprivate let exchange: EventLoopPromise<Response>

        /// Cancels the request. Sent bytes may still arrive.
        package func cancel() { exchange.fail(CancellationError()) }
    }

    private let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    private let trust: TLSTrust
    private let bodyLimit: Int
    private let connectTimeout: TimeAmount
    private let channels = Mutex<[ObjectIdentifier: any Channel]>([:])

    /// Starts the thread.
    ///
    /// - Parameters:
    ///   - bodyLimit: bytes of a response's body, and of a message of a WebSocket.
    ///   - connectTimeout: the longest time of a connection, with its handshakes.
    package init(_ trust: TLSTrust, bodyLimit: Int = 1_000_000, connectTimeout: Duration = .seconds(5)) {
        (self.trust, self.bodyLimit, self.connectTimeout) = (trust, bodyLimit, TimeAmount(connectTimeout))
    }

    /// Cuts all connections and ends the thread. Call it once, from another thread.
    package func close() { try? group.syncShutdownGracefully() }

    /// Calls back on the client's thread after a delay, unless the client is closed before.
    package func schedule(in delay: Duration, _ body: @escaping @Sendable () -> Void) {
        group.next().scheduleTask(in: TimeAmount(delay), body)
    }

    /// Runs a closure on the client's thread.
    package func perform(_ body: @escaping @Sendable () -> Void) { group.next().execute(body) }

    /// Cuts connections from addresses that the machine has lost: nothing would report their end for minutes.
    ///
    /// - Parameter addresses: the machine's present addresses, in numbers; nil cuts all connections, for example after a
    ///   suspend, when servers may have given them up.
    package func cutConnections(exceptFrom addresses: Set<String>? = nil) {
        for channel in channels.withLock({ Array($0.values) }) {
            if let addresses {
                guard let address = channel.localAddress?.ipAddress else { continue }
                if addresses.contains(String(address.prefix { $0 != "%" })) { continue }
            }
            channel.eventLoop.execute { channel.cut() }
        }
    }

    /// Makes a request.
    ///
    /// - Parameters:
    ///   - target: path and query, with percent escapes.
    ///   - timeout: until the whole response has come.
    ///   - completion: called once, unless the request is cancelled.
    @discardableResult
    package func send(
        _ method: HTTPMethod,
        _ target: String,
        of origin: WebOrigin,
        _ headers: HTTPHeaders = [:],
        body: [UInt8] = [],
        timeout: Duration,
        completion: @escaping @Sendable (Result<Response, WebClientError>) -> Void
    ) -> Pending {
        let loop = group.next()
        let promise = loop.makePromise(of: Response.self)
        var fields = headers
        fields.replaceOrAdd(name: "Connection", value: "close")
        if !body.isEmpty || method == .POST || method == .PATCH {
            fields.replaceOrAdd(name: "Content-Length", value: "\(body.count)")
        }
        let head = request(method, target, of: origin, fields)
        let channel = connect(to: origin) { [bodyLimit] channel in
            try channel.pipeline.syncOperations.addHTTPClientHandlers()
            try channel.pipeline.syncOperations.addHandler(
                ExchangeHandler(head, body: body, to: origin, limit: bodyLimit, promise)
            )
        }
        channel.cascadeFailure(to: promise)
        let timer = loop.scheduleTask(in: TimeAmount(timeout)) { promise.fail(WebClientError.silent(origin)) }
        promise.futureResult.whenComplete { result in
            timer.cancel()
            channel.whenSuccess { $0.close(promise: nil) }
            switch result {
            case .success(let response): completion(.success(response))
            case .failure(is CancellationError): break
            case .failure(let error): completion(.failure(WebClientError(error, of: origin)))
            }
        }
        return Pending(exchange: promise)
    }

    /// Opens a WebSocket.
    ///
    /// - Parameters:
    ///   - owner: gets the events of the WebSocket if it opens.
    ///   - failed: called once if it does not open: with the status of the server's refusal, or with the reason.
    package func openSocket(
        _ target: String,
        of origin: WebOrigin,
        _ headers: HTTPHeaders = [:],
        owner: WebSocketOwner,
        failed: @escaping @Sendable (Result<Int, WebClientError>) -> Void
    ) {
        let loop = group.next()
        let refusal = loop.makePromise(of: Response.self)
        let head = request(.GET, target, of: origin, headers)
        let channel = connect(to: origin) { [bodyLimit] channel in
            // It sends the request, and receives any response that is not an upgrade.
            let exchange = ExchangeHandler(head, to: origin, limit: bodyLimit, refusal)
            let bound = NIOLoopBound(exchange, eventLoop: channel.eventLoop)
            let upgrader = NIOWebSocketClientUpgrader(
                maxFrameSize: bodyLimit,
                automaticErrorHandling: false,
                upgradePipelineHandler: { channel, _ in
                    channel.eventLoop.makeCompletedFuture {
                        refusal.fail(CancellationError())
                        try channel.pipeline.syncOperations.addHandler(
                            WebSocketHandler(owner, isClient: true, messageLimit: bodyLimit)
                        )
                    }
                }
            )
            // The first frame may come together with the response.
            try channel.pipeline.syncOperations.addHTTPClientHandlers(
                leftOverBytesStrategy: .forwardBytes,
                withClientUpgrade: (
                    [upgrader],
                    { context in context.pipeline.syncOperations.removeHandler(bound.value, promise: nil) }
                )
            )
            try channel.pipeline.syncOperations.addHandler(exchange)
        }
        channel.cascadeFailure(to: refusal)
        let timer = loop.scheduleTask(in: connectTimeout) { refusal.fail(WebClientError.silent(origin)) }
        refusal.futureResult.whenComplete { result in
            timer.cancel()
            if case .failure(is CancellationError) = result { return }
            channel.whenSuccess { $0.close(promise: nil) }
            failed(result.map(\.status).mapError { WebClientError($0, of: origin) })
        }
    }

    // MARK: - Connections

    private func request(
        _ method: HTTPMethod,
        _ target: String,
        of origin: WebOrigin,
        _ headers: HTTPHeaders
    ) -> HTTPRequestHead {
        var head = HTTPRequestHead(version: .http1_1, method: method, uri: target, headers: headers)
        head.headers.replaceOrAdd(name: "Host", value: origin.hostField)
        return head
    }

    private func connect(
        to origin: WebOrigin,
        _ prepare: @escaping @Sendable (any Channel) throws -> Void
    ) -> EventLoopFuture<any Channel> {
        let deadline = NIODeadline.now() + connectTimeout
        let connection = ClientBootstrap(group: group)
            .connectTimeout(connectTimeout)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelOption(.tcpOption(.sendQueue), value: sendQueueSize)
            .channelInitializer { [trust] channel in
                channel.eventLoop.makeCompletedFuture {
                    if origin.scheme == .https {
                        try channel.pipeline.syncOperations.addHandler(trust.handler(for: origin))
                        try channel.pipeline.syncOperations.addHandler(HandshakeTimer(until: deadline))
                    }
                    try prepare(channel)
                }
            }
            .connect(host: origin.host, port: Int(origin.port))
        connection.whenSuccess { [self] channel in
            channels.withLock { $0[ObjectIdentifier(channel)] = channel }
            channel.closeFuture.whenComplete { [self] _ in
                channels.withLock { $0[ObjectIdentifier(channel)] = nil }
            }
        }
        return connection
    }
}
