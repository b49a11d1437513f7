import Glibc

/// An interface of this machine that is up.
package struct NetworkInterface: Sendable, Equatable {
    package let name: String
    package let index: UInt32
    package let isLoopback: Bool
    package let isMulticast: Bool
    /// In numbers.
    package private(set) var addresses: [String] = []
    /// The broadcast addresses of its IPv4 networks.
    package private(set) var broadcasts: [String] = []

    package static func all() -> [NetworkInterface] {
        var list: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&list) == 0 else { return [] }
        defer { freeifaddrs(list) }
        var interfaces: [String: NetworkInterface] = [:]
        var next = list
        while let entry = next?.pointee {
            next = entry.ifa_next
            guard entry.ifa_flags & UInt32(IFF_UP) != 0, let found = entry.ifa_addr else { continue }
            let family = Int32(found.pointee.sa_family)
            guard family == AF_INET || family == AF_INET6 else { continue }
            let name = String(cString: entry.ifa_name)
            var interface =
                interfaces[name]
                ?? NetworkInterface(
                    name: name,
                    index: if_nametoindex(name),
                    isLoopback: entry.ifa_flags & UInt32(IFF_LOOPBACK) != 0,
                    isMulticast: entry.ifa_flags & UInt32(IFF_MULTICAST) != 0
                )
            interface.addresses.append(SocketAddress(copying: found, isIPv6: family == AF_INET6).host)
            if family == AF_INET, entry.ifa_flags & UInt32(IFF_BROADCAST) != 0,
                let broadcast = entry.ifa_ifu.ifu_broadaddr
            {
                interface.broadcasts.append(SocketAddress(copying: broadcast, isIPv6: false).host)
            }
            interfaces[name] = interface
        }
        // One that has gone meanwhile has no index.
        return interfaces.values.filter { $0.index != 0 }.sorted { $0.index < $1.index }
    }
}
