import NIOHTTP1

/// Tells who asks, where requests come by web proxies that are believed.
struct Proxies: Sendable {
    let ranges: [AddressRange]

    func contains(_ address: String) -> Bool {
        IPAddress(parsing: address).map { address in ranges.contains { $0.contains(address) } } ?? false
    }

    /// Each proxy adds whom it got a request from at the end of `X-Forwarded-For`. So the client is the last of that list
    /// that is no proxy itself: what stands before it is the client's own word, and counts for nothing.
    ///
    /// - Parameter peer: the other end of the connection, in numbers.
    func client(of peer: String, _ headers: HTTPHeaders) -> String {
        var client = peer
        var named = headers["x-forwarded-for"].joined(separator: ",").split(separator: ",")[...]
        while contains(client), let last = named.popLast() {
            guard let address = IPAddress(forwarded: last.filter { !$0.isWhitespace }) else { break }
            client = address.description
        }
        return client
    }
}
