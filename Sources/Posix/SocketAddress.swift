import Glibc

/// A host name without an address.
package struct UnresolvedHost: Error, Equatable, CustomStringConvertible {
    package let host: String
    /// The resolver's words, such as `Name or service not known`.
    package let reason: String

    package var description: String {
        "the host \(host) has no address (\(reason)): check its name, or give its address"
    }
}

/// An IPv4 or IPv6 address with a port.
package struct SocketAddress: Sendable, CustomStringConvertible {
    private var storage = sockaddr_storage()
    private var length: socklen_t = socklen_t(MemoryLayout<sockaddr_storage>.size)

    /// An address and its length, as a system call writes them.
    init<E: Error>(
        writing body: (UnsafeMutablePointer<sockaddr>, inout socklen_t) throws(E) -> Void
    ) throws(E) {
        var storage = storage
        var length = length
        try withUnsafeMutablePointer(to: &storage) { pointer throws(E) in
            try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address throws(E) in
                try body(address, &length)
            }
        }
        self.storage = storage
        self.length = length
    }

    init(copying source: UnsafePointer<sockaddr>, isIPv6: Bool) {
        let size = isIPv6 ? MemoryLayout<sockaddr_in6>.size : MemoryLayout<sockaddr_in>.size
        self.init { (target, length: inout socklen_t) in
            UnsafeMutableRawPointer(target).copyMemory(from: source, byteCount: size)
            length = socklen_t(size)
        }
    }

    /// All interfaces of a family, at a port; 0 lets the kernel choose.
    package init(anyOf family: Int32, port: UInt16) {
        storage.ss_family = sa_family_t(family)
        length = socklen_t(family == AF_INET6 ? MemoryLayout<sockaddr_in6>.size : MemoryLayout<sockaddr_in>.size)
        self.port = port
    }

    /// An address in numbers.
    ///
    /// - Parameter interface: the index of the interface behind which a link-local address lies.
    /// - Returns: nil for other texts.
    package init?(numbers host: String, interface: UInt32 = 0, port: UInt16) {
        guard let address = IPAddress(parsing: host) else { return nil }
        let isIPv6 = address.bytes.count == 16
        self.init(anyOf: isIPv6 ? AF_INET6 : AF_INET, port: port)
        withUnsafeMutableBytes(of: &storage) { storage in
            storage[(isIPv6 ? 8 : 4)...].copyBytes(from: address.bytes)
            if isIPv6 { storage.storeBytes(of: interface, toByteOffset: 24, as: UInt32.self) }
        }
    }

    /// The index of the interface behind which a link-local IPv6 address lies; 0 for others.
    package var interface: UInt32 {
        isIPv6 ? withUnsafeBytes(of: storage) { $0.load(fromByteOffset: 24, as: UInt32.self) } : 0
    }

    /// The first address of a host: a literal, or a name. Looking up a name may take seconds.
    package static func resolve(host: String, port: UInt16) throws(UnresolvedHost) -> SocketAddress {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_DGRAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let status = getaddrinfo(host, nil, &hints, &list)
        guard status == 0, let first = list?.pointee, let found = first.ai_addr else {
            throw UnresolvedHost(host: host, reason: String(cString: gai_strerror(status)))
        }
        defer { freeaddrinfo(list) }
        var address = SocketAddress(copying: found, isIPv6: first.ai_family == AF_INET6)
        address.port = port
        return address
    }

    /// `AF_INET` or `AF_INET6`.
    package var family: Int32 { Int32(storage.ss_family) }
    package var isIPv6: Bool { family == AF_INET6 }

    /// The port has the same offset in both families.
    package var port: UInt16 {
        get {
            withUnsafeBytes(of: storage) { UInt16(bigEndian: $0.load(fromByteOffset: 2, as: UInt16.self)) }
        }
        set {
            withUnsafeMutableBytes(of: &storage) {
                $0.storeBytes(of: newValue.bigEndian, toByteOffset: 2, as: UInt16.self)
            }
        }
    }

    /// The address's 4 or 16 bytes, in network order.
    package var bytes: [UInt8] {
        withUnsafeBytes(of: storage) { Array(isIPv6 ? $0[8..<24] : $0[4..<8]) }
    }

    /// 224.0.0.0/4 or ff00::/8.
    package var isMulticast: Bool { isIPv6 ? bytes[0] == 0xFF : bytes[0] >> 4 == 14 }

    /// 127.0.0.0/8 or ::1.
    package var isLoopback: Bool {
        isIPv6 ? bytes == Array(repeating: 0, count: 15) + [1] : bytes[0] == 127
    }

    /// 169.254.0.0/16 or fe80::/10.
    package var isLinkLocal: Bool {
        isIPv6 ? bytes[0] == 0xFE && bytes[1] & 0xC0 == 0x80 : bytes[0] == 169 && bytes[1] == 254
    }

    /// The address alone, in numbers.
    package var host: String { IPAddress.text(bytes) }

    package var description: String { isIPv6 ? "[\(host)]:\(port)" : "\(host):\(port)" }

    func withPointer<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        withUnsafePointer(to: storage) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, length) }
        }
    }
}

extension FileDescriptor {
    /// Of a socket.
    func localAddress() throws(SystemError) -> SocketAddress {
        try SocketAddress { (address, length: inout socklen_t) throws(SystemError) in
            try check("getsockname") { getsockname(raw, address, &length) }
        }
    }
}
