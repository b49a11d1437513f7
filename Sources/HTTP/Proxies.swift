/// Finds the client of a request that comes by trusted web proxies.
package struct Proxies: Sendable {
    let ranges: [AddressRange]

    package init(ranges: [AddressRange]) { self.ranges = ranges }

    func contains(_ address: ClientAddress) -> Bool { contains(address.description) }

    private func contains(_ address: String) -> Bool {
        IPAddress(parsing: address).map { address in ranges.contains { $0.contains(address) } } ?? false
    }

    /// Each proxy appends the address from which it got the request to `X-Forwarded-For`. So the client is the last address of
    /// that list that is no proxy; the client itself may have written those before.
    ///
    /// - Parameters:
    ///   - peer: the other end of the connection, in numbers.
    ///   - fields: the values of all `X-Forwarded-For` fields.
    package func client(of peer: String, forwardedFor fields: [String]) -> String {
        var client = peer
        var named = fields.joined(separator: ",").split(separator: ",")[...]
        while contains(client), let last = named.popLast() {
            guard let address = IPAddress(forwarded: last.filter { !$0.isWhitespace }) else { break }
            client = address.description
        }
        return client
    }

    func client(of peer: ClientAddress, forwardedFor fields: [String]) -> ClientAddress {
        ClientAddress(client(of: peer.description, forwardedFor: fields))
    }
}
