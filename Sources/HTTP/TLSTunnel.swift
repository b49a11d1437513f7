import NIOCore
import NIOPosix
import NIOSSL
import Synchronization

/// Leads connections from this machine by TLS to a server whose client cannot speak it, on a thread of its own: such as relays,
/// as libnice knows TURN by UDP and TCP alone.
package final class TLSTunnel: Sendable {
    private static let connectTimeout = TimeAmount.seconds(5)
    /// Connections at once.
    private static let limit = 256

    /// Where it takes connections.
    package let port: UInt16
    private let group: MultiThreadedEventLoopGroup
    private let listener: any Channel

    /// Begins to take connections.
    ///
    /// - Parameters:
    ///   - host: a name or an address, which the server's certificate must be for.
    ///   - loopback: where it takes connections: 127.0.0.1 or ::1.
    ///   - failed: called on the tunnel's thread each time that there is no way to the server, with the reason.
    package init(
        to host: String,
        port: UInt16,
        from loopback: String,
        _ trust: TLSTrust,
        failed: @escaping @Sendable (WebClientError) -> Void
    ) throws(HTTPServerError) {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let shared = Shared(WebOrigin(.https, host: host, port: port), trust, failed)
        let bootstrap = ServerBootstrap(group: group)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelOption(.autoRead, value: false)
            .childChannelInitializer { channel in shared.lead(channel, in: group) }
        do {
            listener = try bootstrap.bind(host: loopback, port: 0).wait()
        } catch {
            try? group.syncShutdownGracefully()
            throw .cannotListen(ListenAddress(host: loopback, port: 0), reason: reason(error))
        }
        self.group = group
        self.port = UInt16(listener.localAddress?.port ?? 0)
    }

    /// Cuts all connections and ends the thread. Call it once, from another one.
    package func close() { try? group.syncShutdownGracefully() }

    private final class Shared: Sendable {
        private let server: WebOrigin
        private let trust: TLSTrust
        private let failed: @Sendable (WebClientError) -> Void
        private let count = Atomic(0)

        init(_ server: WebOrigin, _ trust: TLSTrust, _ failed: @escaping @Sendable (WebClientError) -> Void) {
            (self.server, self.trust, self.failed) = (server, trust, failed)
        }

        /// Connects to the server for a connection that was taken, which is read once both stand.
        func lead(_ near: any Channel, in group: any EventLoopGroup) -> EventLoopFuture<Void> {
            guard count.wrappingAdd(1, ordering: .relaxed).newValue <= TLSTunnel.limit else {
                count.wrappingSubtract(1, ordering: .relaxed)
                return near.eventLoop.makeFailedFuture(ChannelError.connectTimeout(.zero))
            }
            near.closeFuture.whenComplete { [self] _ in count.wrappingSubtract(1, ordering: .relaxed) }
            let far = ClientBootstrap(group: group)
                .connectTimeout(TLSTunnel.connectTimeout)
                .channelOption(.tcpOption(.tcp_nodelay), value: 1)
                .channelOption(.autoRead, value: false)
                .channelInitializer { [self] far in
                    far.eventLoop.makeCompletedFuture {
                        let (nearEnd, farEnd) = TunnelEnd.pair()
                        let operations = far.pipeline.syncOperations
                        try operations.addHandler(trust.handler(for: server))
                        try operations.addHandler(FailureHandler { [self] in failed(WebClientError($0, of: server)) })
                        try operations.addHandler(farEnd)
                        try near.pipeline.syncOperations.addHandler(nearEnd)
                    }
                }
                .connect(host: server.host, port: Int(server.port))
            far.whenFailure { [self] error in
                failed(WebClientError(error, of: server))
                near.close(promise: nil)
            }
            return near.eventLoop.makeSucceededVoidFuture()
        }
    }
}

/// Tells why there is no connection. Of one that stood, it tells nothing.
private final class FailureHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    private var failed: ((any Error) -> Void)?

    init(_ failed: @escaping (any Error) -> Void) { self.failed = failed }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        failed = nil
        context.fireChannelRead(data)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        failed.take()?(error)
        context.close(promise: nil)
    }
}

/// One end of a tunnel, on the thread of both: what is read here is written there, as fast as that takes it.
private final class TunnelEnd: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private var other: TunnelEnd?
    private var context: ChannelHandlerContext?
    /// Whether the other end had no room when this one would have read.
    private var waitsToRead = false

    static func pair() -> (TunnelEnd, TunnelEnd) {
        let (one, other) = (TunnelEnd(), TunnelEnd())
        (one.other, other.other) = (other, one)
        return (one, other)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        if context.channel.isActive { context.read() }
    }

    func handlerRemoved(context: ChannelHandlerContext) { (self.context, other) = (nil, nil) }

    func channelActive(context: ChannelHandlerContext) { context.read() }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        other?.context?.write(wrapOutboundOut(unwrapInboundIn(data)), promise: nil)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        other?.context?.flush()
        if other?.canWrite ?? false { context.read() } else { waitsToRead = true }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable { other?.resume() }
    }

    func channelInactive(context: ChannelHandlerContext) {
        other?.context?.close(promise: nil)
        context.fireChannelInactive()
    }

    private var canWrite: Bool { context?.channel.isWritable ?? false }

    private func resume() {
        guard waitsToRead else { return }
        waitsToRead = false
        context?.read()
    }
}
