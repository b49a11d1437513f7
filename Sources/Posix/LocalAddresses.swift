import Glibc

/// The addresses of the machine's interfaces that are up, without those of the loopback and of a link alone.
package func localAddresses() -> [SocketAddress] {
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
        let address = SocketAddress(copying: found, isIPv6: family == AF_INET6)
        if !address.isLoopback, !address.isLinkLocal { addresses.append(address) }
    }
    return addresses
}
