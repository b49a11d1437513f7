import NIOCore
import NIOPosix
import NIOTLS
import Synchronization

/// Accepts TCP connections on this machine and forwards them to a server over TLS, on a thread of its own, for clients
/// that cannot speak TLS. libnice needs it for relays: it speaks TURN only over UDP and TCP.
package final class TLSTunnel: Sendable {
    /// The most connections at once.
    private static let limit = 256

    private let server: WebOrigin
    private let trust: TLSTrust
    private let openTimeout: TimeAmount
    private let failed: @Sendable (WebClientError) -> Void
    private let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    private let listener = Mutex<(any Channel)?>(nil)
    private let count = Atomic(0)
    private let lastFailure = Mutex<WebClientError?>(nil)

    /// Begins to accept connections.
    ///
    /// - Parameters:
    ///   - host: a name or an address that the server's certificate must have.
    ///   - loopback: the address at which it accepts connections, 127.0.0.1 or ::1.
    ///   - openTimeout: the longest time of the connection to the server, with its handshake.
    ///   - failed: called on the tunnel's thread when the server cannot be reached for another reason than before.
    package init(
        to host: String,
        port: UInt16,
        from loopback: String,
        _ trust: TLSTrust,
        openTimeout: Duration = .seconds(5),
        failed: @escaping @Sendable (WebClientError) -> Void = { _ in }
    ) throws(HTTPServerError) {
        server = WebOrigin(.https, host: host, port: port)
        (self.trust, self.openTimeout, self.failed) = (trust, TimeAmount(openTimeout), failed)
        let bootstrap = ServerBootstrap(group: group)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelOption(.autoRead, value: false)
            .childChannelInitializer { [self] channel in lead(channel) }
        do {
            let channel = try bootstrap.bind(host: loopback, port: 0).wait()
            listener.withLock { $0 = channel }
        } catch {
            close()
            throw .cannotListen(ListenAddress(host: loopback, port: 0), reason: reason(error))
        }
    }

    /// Where it accepts connections.
    package var port: UInt16 { UInt16(listener.withLock(\.self)?.localAddress?.port ?? 0) }

    /// Why the server could not be reached last; nil if it always could.
    package var failure: WebClientError? { lastFailure.withLock(\.self) }

    /// Cuts all connections and ends the thread. Call it once, from another thread.
    package func close() { try? group.syncShutdownGracefully() }

    /// Connects an accepted connection to the server. Nothing is read from it before, so that waiting bytes stay in
    /// the kernel.
    private func lead(_ near: any Channel) -> EventLoopFuture<Void> {
        guard count.wrappingAdd(1, ordering: .relaxed).newValue <= Self.limit else {
            count.wrappingSubtract(1, ordering: .relaxed)
            return near.eventLoop.makeFailedFuture(ChannelError.connectTimeout(.zero))
        }
        near.closeFuture.whenComplete { [self] _ in count.wrappingSubtract(1, ordering: .relaxed) }
        let isGone = NIOLoopBoundBox(false, eventLoop: near.eventLoop)
        near.closeFuture.whenComplete { _ in isGone.value = true }
        let fail: @Sendable (any Error) -> Void = { [self] error in
            // A client that gives up says nothing about the server.
            if !isGone.value { note(WebClientError(error, of: server)) }
            near.close(promise: nil)
        }
        let deadline = NIODeadline.now() + openTimeout
        let connection = ClientBootstrap(group: group)
            .connectTimeout(openTimeout)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelOption(.autoRead, value: false)
            .connect(host: server.host, port: Int(server.port))
        connection.whenFailure(fail)
        // Several addresses may be tried. The handlers belong to the one that is connected.
        connection.whenSuccess { [self] far in
            do {
                let (end, operations) = (TunnelEnd(), far.pipeline.syncOperations)
                try operations.addHandler(trust.handler(for: server))
                try operations.addHandler(HandshakeTimer(until: deadline))
                try operations.addHandler(TunnelOpening(of: near, to: end, fail))
                try operations.addHandler(end)
            } catch { fail(error) }
            near.closeFuture.whenComplete { _ in far.close(promise: nil) }
        }
        return near.eventLoop.makeSucceededVoidFuture()
    }

    private func note(_ error: WebClientError) {
        if lastFailure.withLock({ exchange(&$0, with: error) }) != error { failed(error) }
    }
}

/// Joins the ends of a tunnel after the handshake with the server. If that fails, the near end is closed at once, and
/// not only when the far one is. Failures of an open tunnel are not reported.
private final class TunnelOpening: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let near: any Channel
    private let far: TunnelEnd
    private var failed: ((any Error) -> Void)?

    /// - Parameter failed: called once if the server cannot be reached.
    init(of near: any Channel, to far: TunnelEnd, _ failed: @escaping (any Error) -> Void) {
        (self.near, self.far, self.failed) = (near, far, failed)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if let event = event as? TLSUserEvent, case .handshakeCompleted = event {
            do { try near.pipeline.syncOperations.addHandler(far.join()) } catch { near.close(promise: nil) }
        }
        context.fireUserInboundEventTriggered(event)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        failed = nil
        context.fireChannelRead(data)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        failed.take()?(error)
        near.close(promise: nil)
        context.close(promise: nil)
    }
}

/// One end of a tunnel, on the thread of both. Bytes that are read here are written at the other end, as fast as it
/// accepts them.
private final class TunnelEnd: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private var other: TunnelEnd?
    private var context: ChannelHandlerContext?
    /// Whether a read of this end was held back because the other end had no room.
    private var waitsToRead = false

    /// Makes the other end.
    func join() -> TunnelEnd {
        let new = TunnelEnd()
        (other, new.other) = (new, self)
        return new
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
