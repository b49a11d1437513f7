package struct HTTPLimits: Sendable {
    /// Connections at once. Further ones are closed before they cost anything.
    package var connections = 512
    /// Connections of one IPv4 address, or one network of IPv6, or its requests under way by proxies. It never gets
    /// more than half of all connections.
    package var connectionsOfOneNetwork = 64
    /// Connections of one network without a request under way, except for those of proxies; at least 1. They have sent
    /// no request yet, or only a part of one, or have their response. A further one closes the longest idle, as a
    /// client must expect (RFC 9112 §9.5).
    package var idleConnectionsOfOneNetwork = 512
    /// Bytes of a request's body.
    package var bodySize = 64 * 1024
    /// The longest time of a client for a request, between two requests, and without reading a response.
    package var requestTimeout = Duration.seconds(15)
    /// Bytes that wait until clients read them, and parts of messages and requests that are not whole, of all clients
    /// together. Beyond it the slowest clients lose their connections.
    package var unread = 4 << 20
    /// The same for the clients of one network; nil for no such limit.
    package var unreadOfOneNetwork: Int?

    package init() {}
}
