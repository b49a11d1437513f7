import Glibc
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import Posix

/// Serves HTTP, or HTTPS, on a thread of its own.
///
/// Responses leave on that thread. So make a server before its responders, and close it after them. Close its listeners
/// before the responders.
package final class HTTPServer: Sendable {
    /// A socket that accepts connections until it is closed.
    package struct Listener: Sendable {
        /// Its port, chosen by the system if the address left it open.
        package let port: UInt16
        private let channel: any Channel

        init(_ channel: any Channel) {
            self.channel = channel
            port = UInt16(channel.localAddress?.port ?? 0)
        }

        /// Accepts no more connections. Existing ones continue. Call it once, before the server is closed.
        package func close() { try? channel.close().wait() }
    }

    private let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    private let limits: HTTPLimits
    private let connections: Connections
    /// The bytes that wait for clients, over all connections. A service that keeps data for clients may count them here
    /// too.
    package let memory: ClientMemory

    /// Starts the thread.
    ///
    /// - Parameter proxies: addresses of web proxies that are trusted to name the client of a request.
    package init(limits: HTTPLimits = HTTPLimits(), proxies: [AddressRange] = []) {
        self.limits = limits
        connections = Connections(limits, proxies: proxies)
        memory = ClientMemory(limit: limits.unread, ofOneNetwork: limits.unreadOfOneNetwork)
    }

    /// Accepts connections at an address.
    ///
    /// - Parameters:
    ///   - tls: the certificate in use, asked for each connection on the server's thread; nil for HTTP without TLS.
    ///   - takeSocket: nil for a server without WebSockets.
    /// - Throws: `cannotListen`.
    package func listen(
        on address: ListenAddress,
        tls: (@Sendable () -> TLSIdentity)? = nil,
        takeSocket: WebSocketTaker? = nil,
        respond: @escaping HTTPResponder
    ) throws(HTTPServerError) -> Listener {
        let bootstrap = ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 256)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            // If there is no descriptor for a new client, the server waits, and does not try again at once.
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(
                        AcceptBackoffHandler(shouldForwardIOErrorCaught: false)
                    )
                }
            }
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            // A client may close its sending half and still receive responses.
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            // With a small send queue in the kernel, the write timer notices sooner whether bytes leave.
            .childChannelOption(.tcpOption(.sendQueue), value: sendQueueSize)
            // A connection keeps as many buffers as it reads at once. By default they are four of 64 kB.
            .childChannelOption(.maxMessagesPerRead, value: 1)
            .childChannelOption(.recvAllocator, value: ReceiveBuffers())
            .childChannelInitializer { [limits, connections, memory] channel in
                channel.eventLoop.makeCompletedFuture {
                    guard let place = connections.add(channel) else { throw ChannelError.ioOnClosedChannel }
                    if let tls {
                        try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: tls().context))
                    }
                    let intake = Intake(memory.open(for: ClientAddress(channel.remoteAddress), on: channel))
                    try channel.pipeline.syncOperations.addHandlers(LingeringClose(), intake)
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline(
                        withServerUpgrade: takeSocket.map {
                            socketUpgrade($0, connections, limits, memory, on: channel.eventLoop)
                        },
                        withErrorHandling: true,
                        withEncoderConfiguration: HTTPResponseEncoder.Configuration(),
                        withDecoderLimitConfiguration: HeadLimit.ofParser
                    )
                    try channel.pipeline.syncOperations.addHandler(
                        HTTPHandler(respond, connections, place, limits, memory, intake)
                    )
                }
            }
        do { return Listener(try Self.bind(bootstrap, to: address)) } catch {
            throw .cannotListen(address, reason: reason(error))
        }
    }

    /// Calls back on the server's thread after a delay, unless the server is closed before.
    package func schedule(in delay: Duration, _ body: @escaping @Sendable () -> Void) {
        group.next().scheduleTask(in: TimeAmount(delay), body)
    }

    /// Cuts all connections, and ends the thread.
    package func close() { try? group.syncShutdownGracefully() }

    /// Binds a socket to an address. Without a host, it binds to all addresses of the machine, of IPv6 and IPv4 if it
    /// has both.
    private static func bind(_ bootstrap: ServerBootstrap, to address: ListenAddress) throws -> any Channel {
        if let host = address.host { return try bootstrap.bind(host: host, port: Int(address.port)).wait() }
        do {
            return try bootstrap.bind(host: "::", port: Int(address.port)).wait()
        } catch let error as IOError where error.errnoCode == EADDRINUSE || error.errnoCode == EACCES {
            throw error
        } catch {
            // The machine has no IPv6.
            return try bootstrap.bind(host: "0.0.0.0", port: Int(address.port)).wait()
        }
    }
}

extension NIOBSDSocket.Option {
    /// Bytes that the kernel accepts and has not sent yet. The rest waits in the process, where it is counted.
    static var sendQueue: NIOBSDSocket.Option { NIOBSDSocket.Option(rawValue: TCP_NOTSENT_LOWAT) }
}

let sendQueueSize: ChannelOptions.Types.SocketOption.Value = 128 * 1024
