import Glibc
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL

/// Why a server does not serve.
package enum HTTPServerError: Error, CustomStringConvertible {
    case cannotListen(ListenAddress, reason: String)
    case certificate(file: String, reason: String)

    package var description: String {
        switch self {
        case .cannotListen(let address, let reason):
            "cannot listen on \(address) (\(reason))"
        case .certificate(let file, let reason):
            "cannot use \(file) for TLS (\(reason)): give PEM files of a certificate and its key"
        }
    }
}

/// Serves HTTP, or HTTPS, on a thread of its own.
///
/// Responses leave by that thread. So a server is made before its responders and closed after them; its listeners are closed
/// before the responders.
package final class HTTPServer: Sendable {
    /// Answers a request. It is called on the server's thread, must not block that, and calls the completion once, on any
    /// thread, before the server is closed.
    package typealias Responder =
        @Sendable (HTTPRequest, _ completion: @escaping @Sendable (HTTPResponse) -> Void) -> Void

    /// Takes a request for a WebSocket and returns its owner. For nil, the request is answered as any other. It is called on the server's
    /// thread, and must not block that.
    package typealias SocketTaker = @Sendable (HTTPRequest) -> WebSocketOwner?

    /// The limits of what clients may use.
    package struct Limits: Sendable {
        /// Connections at once. More are turned away before they cost anything.
        package var connections: Int
        /// Connections of one IPv4 address, or one network of IPv6, or requests under way that it sends by proxies. It never gets more
        /// than half of all connections.
        package var connectionsOfOneNetwork: Int
        /// Connections of one network, besides those of proxies, that have no request under way, at least 1: they have sent none yet,
        /// or not all of one, or have their response. For one more, the one that has been so for longest is closed, as a client must
        /// expect (RFC 9112 §9.5).
        package var idleConnectionsOfOneNetwork: Int
        /// Bytes of a request's body.
        package var bodySize: Int
        /// How long a client may take for a request, be silent between two, and take nothing of a response.
        package var requestTimeout: Duration
        /// Bytes that wait until clients read them, and of messages of WebSockets and requests that have not come whole, of
        /// all clients together. Beyond that the slowest lose their connections.
        package var unread: Int
        /// The same of the clients of one network; nil for no other limit than that of all.
        package var unreadOfOneNetwork: Int?

        package init(
            connections: Int = 512,
            connectionsOfOneNetwork: Int = 64,
            idleConnectionsOfOneNetwork: Int = 512,
            bodySize: Int = 64 * 1024,
            requestTimeout: Duration = .seconds(15),
            unread: Int = 4 << 20,
            unreadOfOneNetwork: Int? = nil
        ) {
            self.connections = connections
            self.connectionsOfOneNetwork = connectionsOfOneNetwork
            self.idleConnectionsOfOneNetwork = idleConnectionsOfOneNetwork
            self.bodySize = bodySize
            self.requestTimeout = requestTimeout
            self.unread = unread
            self.unreadOfOneNetwork = unreadOfOneNetwork
        }
    }

    /// A socket that takes connections. Close it: until then it takes them.
    package struct Listener: Sendable {
        /// Where it listens; the port that the system chose if the address left it open.
        package let port: UInt16
        private let channel: any Channel

        init(_ channel: any Channel) {
            self.channel = channel
            port = UInt16(channel.localAddress?.port ?? 0)
        }

        /// Takes no more connections; those that are there go on. Call it once, before the server is closed.
        package func close() { try? channel.close().wait() }
    }

    private let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    private let limits: Limits
    private let connections: Connections
    /// What waits for clients, over all connections. A service that keeps something for clients itself may count it there too.
    package let memory: ClientMemory

    /// Starts the thread.
    ///
    /// - Parameter proxies: addresses of web proxies that are believed where a request comes from.
    package init(limits: Limits = Limits(), proxies: [AddressRange] = []) {
        self.limits = limits
        connections = Connections(limits, proxies: Proxies(ranges: proxies))
        memory = ClientMemory(limit: limits.unread, ofOneNetwork: limits.unreadOfOneNetwork)
    }

    /// Takes connections at an address.
    ///
    /// - Parameters:
    ///   - tls: the certificate in use, asked for each connection on the server's thread; nil for HTTP without TLS.
    ///   - takeSocket: nil for a server without WebSockets.
    /// - Throws: `cannotListen`.
    package func listen(
        on address: ListenAddress,
        tls: (@Sendable () -> TLSIdentity)? = nil,
        takeSocket: SocketTaker? = nil,
        respond: @escaping Responder
    ) throws(HTTPServerError) -> Listener {
        let bootstrap = ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 256)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            // Without descriptors for new clients the server waits, instead of trying again at once.
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(
                        AcceptBackoffHandler(shouldForwardIOErrorCaught: false)
                    )
                }
            }
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            // A client may close its sending half and still receive the responses.
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            // A small send queue in the kernel shows the write timer sooner whether bytes leave.
            .childChannelOption(.tcpOption(.sendQueue), value: sendQueueSize)
            // Each connection keeps as many buffers as it reads at once: by default four of 64 kB.
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

    /// Calls back on the server's thread after a while, unless the server is closed before.
    package func schedule(in delay: Duration, _ body: @escaping @Sendable () -> Void) {
        group.next().scheduleTask(in: TimeAmount(delay), body)
    }

    /// Cuts all connections, and ends the thread.
    package func close() { try? group.syncShutdownGracefully() }

    /// Binds a socket to an address; if that names no host, to all addresses of the machine, of IPv6 and IPv4 if it has both.
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
    /// Bytes that the kernel takes and has not sent yet: what a peer does not read waits in the process, where it is counted.
    static var sendQueue: NIOBSDSocket.Option { NIOBSDSocket.Option(rawValue: TCP_NOTSENT_LOWAT) }
}

let sendQueueSize: ChannelOptions.Types.SocketOption.Value = 128 * 1024
