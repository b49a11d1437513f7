import Glibc
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import Synchronization

/// Why the web server does not serve.
package enum WebServerError: Error, CustomStringConvertible {
    case cannotListen(ListenAddress, reason: String)
    case certificate(file: String, reason: String)

    package var description: String {
        switch self {
        case .cannotListen(let address, let reason):
            "cannot listen on \(address) (\(reason)): choose another address or port with --listen"
        case .certificate(let file, let reason):
            "cannot use \(file) for TLS (\(reason)): give PEM files of a certificate and its key"
        }
    }
}

/// Serves HTTP, or HTTPS, on a thread of its own.
package final class WebServer: Sendable {
    /// Connections at once. More are turned away before they cost anything.
    package struct Limits: Sendable {
        package var connections: Int
        /// Of one IPv4 address, or one network of IPv6.
        package var connectionsOfOneNetwork: Int

        package init(connections: Int = 512, connectionsOfOneNetwork: Int = 64) {
            self.connections = connections
            self.connectionsOfOneNetwork = connectionsOfOneNetwork
        }

        /// What a process that may have so many descriptors open can spare beside the media. A page keeps one
        /// connection and opens another now and then, and all may come through one proxy.
        package init(files: Int, viewers: Int) {
            connections = min(max(files - 128 - 8 * viewers, 64), 4096)
            connectionsOfOneNetwork = max(64, 2 * viewers)
        }
    }

    /// Where it listens; with the port that the system chose if the configuration left it open.
    package let port: UInt16
    private let group: MultiThreadedEventLoopGroup
    private let channel: any Channel
    private let service: WebService
    private let isClosed = Atomic(false)

    /// - Parameters:
    ///   - proxies: whose word on where a request comes from is believed.
    ///   - requestTimeout: how long a client may take for a request, be silent between two, and take nothing of a response.
    package init(
        _ service: WebService,
        on address: ListenAddress,
        tls: TLSIdentity?,
        limits: Limits = Limits(),
        proxies: [AddressRange] = [],
        requestTimeout: Duration = .seconds(15)
    ) throws(WebServerError) {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let connections = Connections(limits, proxies: Proxies(ranges: proxies))
        let bootstrap = ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 256)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            // Without descriptors for new clients it waits until there are some, rather than try again at once.
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(
                        AcceptBackoffHandler(shouldForwardIOErrorCaught: false)
                    )
                }
            }
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            // Who has asked for all may say so, and still waits for the answers.
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            // The less waits in the kernel, the sooner it shows that bytes leave.
            .childChannelOption(.tcpOption(NIOBSDSocket.Option(rawValue: TCP_NOTSENT_LOWAT)), value: 128 * 1024)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    guard connections.add(channel) else { throw ChannelError.ioOnClosedChannel }
                    if let tls {
                        try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: tls.context))
                    }
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline(withErrorHandling: true)
                    try channel.pipeline.syncOperations.addHandler(
                        HTTPHandler(service, connections, requestTimeout: TimeAmount(requestTimeout))
                    )
                }
            }
        do {
            channel = try Self.bind(bootstrap, to: address)
        } catch {
            group.shutdownGracefully { _ in }
            service.close()
            throw .cannotListen(address, reason: Self.reason(error))
        }
        port = UInt16(channel.localAddress?.port ?? 0)
        self.group = group
        self.service = service
    }

    /// Stops listening, closes the service with its call, and then cuts all connections: answers need their threads.
    package func close() {
        // Nothing more comes from a loop that has ended.
        if isClosed.exchange(true, ordering: .relaxed) { return }
        try? channel.close().wait()
        service.close()
        try? group.syncShutdownGracefully()
    }

    /// All addresses of the machine, of both families where it has both, if none is named.
    private static func bind(_ bootstrap: ServerBootstrap, to address: ListenAddress) throws -> any Channel {
        if let host = address.host { return try bootstrap.bind(host: host, port: Int(address.port)).wait() }
        do {
            return try bootstrap.bind(host: "::", port: Int(address.port)).wait()
        } catch let error as IOError where error.errnoCode == EADDRINUSE || error.errnoCode == EACCES {
            throw error
        } catch {
            // A machine without IPv6.
            return try bootstrap.bind(host: "0.0.0.0", port: Int(address.port)).wait()
        }
    }

    private static func reason(_ error: any Error) -> String {
        (error as? IOError).map { String(cString: strerror($0.errnoCode)) } ?? "\(error)"
    }
}
