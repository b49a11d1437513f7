/// The limits of what clients of a server may use.
package struct HTTPLimits: Sendable {
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
