import NIOCore
import NIOHTTP1
import NIOWebSocket
import Posix

/// The upgrade of a server's connection from HTTP to a WebSocket (RFC 6455 §4.2). A request that nobody takes over goes
/// to the connection's `HTTPHandler`, like any other.
func socketUpgrade(
    _ takeSocket: @escaping WebSocketTaker,
    _ connections: Connections,
    _ limits: HTTPLimits,
    _ memory: ClientMemory,
    on loop: any EventLoop
) -> NIOHTTPServerUpgradeConfiguration {
    let taken = NIOLoopBoundBox<(owner: WebSocketOwner, client: ClientAddress)?>(nil, eventLoop: loop)
    let upgrader = NIOWebSocketServerUpgrader(
        maxFrameSize: limits.bodySize,
        automaticErrorHandling: false,
        shouldUpgrade: { channel, head in
            let refused = channel.eventLoop.makeSucceededFuture(nil as HTTPHeaders?)
            guard head.method == .GET, head.headers["host"].count == 1, HeadLimit.allows(head) else {
                return refused
            }
            let peer = ClientAddress(channel.remoteAddress)
            let client = connections.proxies.client(of: peer, forwardedFor: head.headers["x-forwarded-for"])
            guard let owner = takeSocket(HTTPRequest(head, body: [], client: client.description)) else {
                return refused
            }
            if connections.proxies.contains(peer) {
                guard connections.hold(client) else { return refused }
                channel.closeFuture.whenComplete { _ in connections.release(client) }
            }
            taken.value = (owner, client)
            return channel.eventLoop.makeSucceededFuture([:])
        },
        upgradePipelineHandler: { channel, _ in
            channel.eventLoop.makeCompletedFuture {
                guard let (owner, client) = taken.value else { throw ChannelError.inappropriateOperationForState }
                let share = memory.open(for: client, on: channel)
                let intake = Intake(share)
                let pipeline = channel.pipeline.syncOperations
                let decoder = try pipeline.handler(type: ByteToMessageHandler<WebSocketFrameDecoder>.self)
                try pipeline.addHandler(intake, position: .before(decoder))
                let handler = WebSocketHandler(
                    owner,
                    isClient: false,
                    messageLimit: limits.bodySize,
                    share,
                    intake
                )
                try pipeline.addHandler(handler)
            }
        }
    )
    return (
        [upgrader],
        { context in
            // They wait for requests, but none will come.
            guard let handler = try? context.pipeline.syncOperations.handler(type: HTTPHandler.self) else { return }
            context.pipeline.syncOperations.removeHandler(handler.intake, promise: nil)
            context.pipeline.syncOperations.removeHandler(handler, promise: nil)
        }
    )
}
