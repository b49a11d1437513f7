import Glibc

/// The addresses of the machine's active interfaces, without loopback and link-local ones.
package func localAddresses() -> [SocketAddress] {
    interfaceAddresses().filter { !$0.isLoopback && !$0.isLinkLocal }
}

/// All addresses of the machine's active interfaces.
package func interfaceAddresses() -> [SocketAddress] {
    var list: UnsafeMutablePointer<ifaddrs>?
    guard getifaddrs(&list) == 0 else { return [] }
    defer { freeifaddrs(list) }
    var addresses: [SocketAddress] = []
    var next = list
    while let entry = next?.pointee {
        next = entry.ifa_next
        guard entry.ifa_flags & UInt32(IFF_UP) != 0, let found = entry.ifa_addr else { continue }
        let family = Int32(found.pointee.sa_family)
        guard family == AF_INET || family == AF_INET6 else { continue }
        addresses.append(SocketAddress(copying: found, isIPv6: family == AF_INET6))
    }
    return addresses
}

/// The address of this machine from which datagrams to another one would leave; nil without a route.
package func sourceAddress(toward address: SocketAddress) -> SocketAddress? {
    guard let socket = try? UDPSocket(family: address.family) else { return nil }
    do {
        try socket.connect(to: address)
        return try socket.localAddress()
    } catch {
        return nil
    }
}
