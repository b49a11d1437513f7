import Glibc

/// A non-blocking UDP socket for a multicast group on all interfaces, and for broadcasts of IPv4. Several processes may have the same port.
/// What is sent goes one hop at the most.
package struct GroupSocket: ~Copyable {
    private let socket: UDPSocket
    private let group: SocketAddress
    private var members: Set<UInt32>

    /// - Parameters:
    ///   - group: a multicast address, in numbers.
    ///   - port: of the group and of the socket.
    package init(group: String, port: UInt16) throws(SystemError) {
        guard let address = SocketAddress(numbers: group, port: port) else {
            throw SystemError("inet_pton", code: EINVAL)
        }
        socket = try UDPSocket(family: address.family, port: port) { raw throws(SystemError) in
            try UDPSocket.set(raw, SOL_SOCKET, SO_REUSEADDR, 1, "SO_REUSEADDR")
            // Of groups that other programs have joined, nothing comes here.
            if address.isIPv6 {
                try UDPSocket.set(raw, Int32(IPPROTO_IPV6), IPV6_MULTICAST_HOPS, 1, "IPV6_MULTICAST_HOPS")
                try UDPSocket.set(raw, Int32(IPPROTO_IPV6), Self.ipv6MulticastAll, 0, "IPV6_MULTICAST_ALL")
            } else {
                try UDPSocket.set(raw, SOL_SOCKET, SO_BROADCAST, 1, "SO_BROADCAST")
                try UDPSocket.set(raw, Int32(IPPROTO_IP), IP_MULTICAST_TTL, 1, "IP_MULTICAST_TTL")
                try UDPSocket.set(raw, Int32(IPPROTO_IP), Self.ipMulticastAll, 0, "IP_MULTICAST_ALL")
            }
        }
        self.group = address
        members = []
    }

    /// linux/in.h and linux/in6.h.
    private static let ipMulticastAll: Int32 = 49
    private static let ipv6MulticastAll: Int32 = 29

    /// For `poll`; owned by the socket.
    package var raw: Int32 { socket.raw }

    /// Joins the group on an interface, unless it is joined already.
    package mutating func join(_ interface: NetworkInterface) throws(SystemError) {
        guard !members.contains(interface.index) else { return }
        if group.isIPv6 {
            var request = ipv6_mreq()
            group.bytes.withUnsafeBytes { bytes in
                withUnsafeMutableBytes(of: &request.ipv6mr_multiaddr) { $0.copyMemory(from: bytes) }
            }
            request.ipv6mr_interface = interface.index
            let raw = raw
            try check("setsockopt IPV6_JOIN_GROUP") {
                setsockopt(raw, Int32(IPPROTO_IPV6), IPV6_JOIN_GROUP, &request, socklen_t(MemoryLayout<ipv6_mreq>.size))
            }
        } else {
            var request = self.request(on: interface)
            let raw = raw
            try check("setsockopt IP_ADD_MEMBERSHIP") {
                setsockopt(raw, Int32(IPPROTO_IP), IP_ADD_MEMBERSHIP, &request, socklen_t(MemoryLayout<ip_mreqn>.size))
            }
        }
        members.insert(interface.index)
    }

    /// Forgets the interfaces that are gone: the kernel has left the group there.
    package mutating func keep(_ interfaces: [NetworkInterface]) { members.formIntersection(interfaces.map(\.index)) }

    /// Sends a datagram to the group on an interface.
    package func send(_ datagram: [UInt8], on interface: NetworkInterface) throws(SystemError) {
        let raw = raw
        if group.isIPv6 {
            try UDPSocket.set(
                raw,
                Int32(IPPROTO_IPV6),
                IPV6_MULTICAST_IF,
                Int32(bitPattern: interface.index),
                "IPV6_MULTICAST_IF"
            )
        } else {
            var request = self.request(on: interface)
            try check("setsockopt IP_MULTICAST_IF") {
                setsockopt(raw, Int32(IPPROTO_IP), IP_MULTICAST_IF, &request, socklen_t(MemoryLayout<ip_mreqn>.size))
            }
        }
        try send(datagram, to: group)
    }

    package func send(_ datagram: [UInt8], to address: SocketAddress) throws(SystemError) {
        try socket.send(datagram[...], to: address)
    }

    /// Takes the next datagram, cut to the length of `buffer`; nil if there is none.
    package func receive(into buffer: inout [UInt8]) throws(SystemError) -> (count: Int, source: SocketAddress)? {
        try socket.receive(into: &buffer)
    }

    private func request(on interface: NetworkInterface) -> ip_mreqn {
        var request = ip_mreqn()
        group.bytes.withUnsafeBytes { bytes in
            withUnsafeMutableBytes(of: &request.imr_multiaddr) { $0.copyMemory(from: bytes) }
        }
        request.imr_ifindex = Int32(bitPattern: interface.index)
        return request
    }
}
