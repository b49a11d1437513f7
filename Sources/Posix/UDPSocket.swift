import CPosix
import Glibc

/// A non-blocking UDP socket.
package struct UDPSocket: ~Copyable {
    private let descriptor: FileDescriptor

    /// Opens a socket on all interfaces of the address family.
    ///
    /// - Parameters:
    ///   - family: `AF_INET` or `AF_INET6`; the latter takes IPv6 only.
    ///   - port: 0 lets the kernel choose.
    package init(family: Int32, port: UInt16 = 0) throws(SystemError) {
        try self.init(family: family, port: port) { _ in }
    }

    /// - Parameter prepare: sets options of the socket before it is bound.
    init(
        family: Int32,
        port: UInt16,
        _ prepare: (_ raw: Int32) throws(SystemError) -> Void
    ) throws(SystemError) {
        let kind = Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let descriptor = FileDescriptor(taking: try check("socket") { socket(family, kind, 0) })
        let raw = descriptor.raw
        if family == AF_INET6 { try Self.set(raw, Int32(IPPROTO_IPV6), IPV6_V6ONLY, 1, "IPV6_V6ONLY") }
        try prepare(raw)
        let address = SocketAddress(anyOf: family, port: port)
        try check("bind") { address.withPointer { bind(raw, $0, $1) } }
        self.descriptor = descriptor
    }

    /// For `poll`; owned by the socket.
    package var raw: Int32 { descriptor.raw }

    /// Sets the one peer. Only its datagrams are received then, and its refusals are reported as `ECONNREFUSED`.
    package func connect(to address: SocketAddress) throws(SystemError) {
        try check("connect") { address.withPointer { Glibc.connect(raw, $0, $1) } }
    }

    package func localAddress() throws(SystemError) -> SocketAddress { try descriptor.localAddress() }

    /// Asks for room for `bytes` of datagrams on their way. The system may give less.
    package func setSendBuffer(_ bytes: Int) throws(SystemError) {
        try Self.set(raw, SOL_SOCKET, SO_SNDBUF, Int32(clamping: bytes), "SO_SNDBUF")
    }

    /// Sends datagrams to the connected peer. Those of one size go in one call, if the kernel supports it.
    ///
    /// - Parameters:
    ///   - starts: the start of each datagram in `bytes`.
    ///   - ends: the end of each.
    ///   - first: how many to leave out at the front.
    /// - Returns: how many the kernel took, at least one and at most 64.
    /// - Throws: the error of the first one, such as `EAGAIN`, or `ECONNREFUSED` for an earlier datagram.
    package func send(
        _ bytes: [UInt8],
        starts: [Int],
        ends: [Int],
        from first: Int
    ) throws(SystemError) -> Int {
        precondition(starts.count == ends.count && first < ends.count)
        return Int(
            try check("sendmmsg") { posix_send_datagrams(raw, nil, 0, bytes, starts, ends, first, ends.count, true) }
        )
    }

    /// Sends datagrams in the same way over a socket with another owner, and continues after a lost one.
    ///
    /// - Parameters:
    ///   - starts: the start of each datagram in `bytes`.
    ///   - raw: a non-blocking UDP socket.
    ///   - address: a `sockaddr` of `size` bytes.
    /// - Returns: how many were sent; fewer than given if the system takes no more for now.
    package static func send(
        _ bytes: [UInt8],
        starts: [Int],
        ends: [Int],
        by raw: Int32,
        to address: UnsafeRawPointer,
        size: UInt32
    ) -> Int {
        precondition(starts.count == ends.count)
        var gone = 0
        while gone < ends.count {
            let count = posix_send_datagrams(raw, address, size, bytes, starts, ends, gone, ends.count, true)
            if count < 0, errno == EAGAIN || errno == ENOBUFS { break }
            gone += max(1, Int(count))
        }
        return gone
    }

    package func send(_ datagram: ArraySlice<UInt8>, to address: SocketAddress) throws(SystemError) {
        try check("sendto") {
            datagram.withUnsafeBytes { bytes in
                address.withPointer { sendto(raw, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL), $0, $1) }
            }
        }
    }

    /// Takes the next datagram, cut to the length of `buffer`; nil if there is none.
    package func receive(into buffer: inout [UInt8]) throws(SystemError) -> (count: Int, source: SocketAddress)? {
        var count = 0
        do {
            let source = try SocketAddress { (address, length: inout socklen_t) throws(SystemError) in
                count = try check("recvfrom") { recvfrom(raw, &buffer, buffer.count, 0, address, &length) }
            }
            return (count, source)
        } catch  where error.code == EAGAIN {
            return nil
        }
    }

    /// Takes the pending error of the next call, such as `ECONNREFUSED`; 0 if there is none.
    package func takeError() -> Int32 {
        var code: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        getsockopt(raw, SOL_SOCKET, SO_ERROR, &code, &length)
        return code
    }

    static func set(
        _ raw: Int32,
        _ level: Int32,
        _ option: Int32,
        _ value: Int32,
        _ name: String
    ) throws(SystemError) {
        var value = value
        try check("setsockopt \(name)") { setsockopt(raw, level, option, &value, socklen_t(MemoryLayout<Int32>.size)) }
    }
}
