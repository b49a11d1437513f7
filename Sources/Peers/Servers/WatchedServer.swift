package import ICE
package import Time

/// A STUN or TURN server of the user's, or of a media server's.
package struct WatchedServer: Sendable {
    /// As people name it, such as `turn:relay.example.net:3478`.
    package let name: String
    package let server: ICEServer
    /// The call whose media server names it; nil for one of the user's.
    package let call: String?
    /// The sentence about a broken tunnel to the server; nil if it works, or none is needed.
    package let obstacle: @Sendable () -> String?

    package init(
        _ name: String,
        _ server: ICEServer,
        namedBy call: String? = nil,
        obstacle: @escaping @Sendable () -> String? = { nil }
    ) {
        (self.name, self.server, self.call, self.obstacle) = (name, server, call, obstacle)
    }
}

/// The latest result of probing a server.
package struct ServerNews: Sendable {
    package let server: WatchedServer
    package let result: ServerProbe.Result
    /// The time of the change to this result.
    package let since: Instant

    package init(server: WatchedServer, result: ServerProbe.Result, since: Instant) {
        (self.server, self.result, self.since) = (server, result, since)
    }
}
