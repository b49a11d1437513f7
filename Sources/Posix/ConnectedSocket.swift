import CPosix
import Glibc
import Time

/// A non-blocking socket of UDP or TCP with one peer.
package struct ConnectedSocket: ~Copyable {
    private let descriptor: FileDescriptor

    /// - Parameter isStream: true for TCP, which may join and cut pieces on the path.
    package init(isStream: Bool, to address: SocketAddress) throws(SystemError) {
        let type = isStream ? SOCK_STREAM : SOCK_DGRAM
        let flags = Int32(type.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let descriptor = FileDescriptor(taking: try check("socket") { socket(address.family, flags, 0) })
        let raw = descriptor.raw
        do {
            try check("connect") { address.withPointer { connect(raw, $0, $1) } }
        } catch  where error.code == EINPROGRESS {
            // A failure shows when the socket is used.
        }
        self.descriptor = descriptor
    }

    fileprivate init(accepted descriptor: consuming FileDescriptor) { self.descriptor = descriptor }

    /// For `poll`; owned by the socket.
    package var raw: Int32 { descriptor.raw }

    /// Sends each piece of a stream at once, however small it is.
    package func setNoDelay() throws(SystemError) {
        try UDPSocket.set(raw, Int32(IPPROTO_TCP), TCP_NODELAY, 1, "TCP_NODELAY")
    }

    /// Ends a stream whose other side has acknowledged nothing for that long, with `ETIMEDOUT`.
    package func setPatience(_ patience: Duration) throws(SystemError) {
        let milliseconds = Int32(clamping: Int(patience.milliseconds))
        try UDPSocket.set(raw, Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, milliseconds, "TCP_USER_TIMEOUT")
    }

    package func localAddress() throws(SystemError) -> SocketAddress { try descriptor.localAddress() }

    package func peerAddress() throws(SystemError) -> SocketAddress {
        try SocketAddress { (address, length: inout socklen_t) throws(SystemError) in
            try check("getpeername") { getpeername(raw, address, &length) }
        }
    }

    /// Sends a piece.
    ///
    /// - Returns: bytes sent: 0 while there is no room, or no connection yet.
    /// - Throws: for example `ECONNREFUSED`, also for an earlier piece.
    package func send(_ bytes: ArraySlice<UInt8>) throws(SystemError) -> Int {
        do {
            return try check("send") {
                bytes.withUnsafeBytes { Glibc.send(raw, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            }
        } catch  where error.code == EAGAIN || error.code == ENOBUFS { return 0 }
    }

    /// Takes the next piece, cut to the length of `buffer`.
    ///
    /// - Returns: nil if there is none; 0 at the end of a stream.
    /// - Throws: for example `ECONNREFUSED` if the port is closed.
    package func receive(into buffer: inout [UInt8]) throws(SystemError) -> Int? {
        do { return try check("recv") { recv(raw, &buffer, buffer.count, 0) } } catch  where error.code == EAGAIN {
            return nil
        }
    }

    /// Takes the next piece.
    ///
    /// - Parameter limit: the most bytes. The rest of a datagram is lost.
    /// - Returns: nil if there is none; no bytes at the end of a stream.
    /// - Throws: for example `ECONNREFUSED` if the port is closed.
    package func receive(limit: Int) throws(SystemError) -> [UInt8]? {
        var buffer = [UInt8](repeating: 0, count: limit)
        return try receive(into: &buffer).map { Array(buffer[..<$0]) }
    }
}

/// A non-blocking TCP socket that takes connections on all interfaces of an address family.
package struct StreamListener: ~Copyable {
    private static let backlog: Int32 = 64

    private let descriptor: FileDescriptor

    /// - Parameters:
    ///   - family: `AF_INET` or `AF_INET6`; the latter takes IPv6 only.
    ///   - port: 0 lets the kernel choose.
    package init(family: Int32, port: UInt16) throws(SystemError) {
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let descriptor = FileDescriptor(taking: try check("socket") { socket(family, kind, 0) })
        let raw = descriptor.raw
        if family == AF_INET6 { try UDPSocket.set(raw, Int32(IPPROTO_IPV6), IPV6_V6ONLY, 1, "IPV6_V6ONLY") }
        try UDPSocket.set(raw, SOL_SOCKET, SO_REUSEADDR, 1, "SO_REUSEADDR")
        let address = SocketAddress(anyOf: family, port: port)
        try check("bind") { address.withPointer { bind(raw, $0, $1) } }
        try check("listen") { listen(raw, Self.backlog) }
        self.descriptor = descriptor
    }

    /// For `poll`; owned by the socket.
    package var raw: Int32 { descriptor.raw }

    package func localAddress() throws(SystemError) -> SocketAddress { try descriptor.localAddress() }

    /// The next connection; nil if there is none.
    ///
    /// - Throws: for example `EMFILE`; the connection still waits then.
    package func accept() throws(SystemError) -> ConnectedSocket? {
        let raw = raw
        do { return ConnectedSocket(accepted: FileDescriptor(taking: try check("accept") { posix_accept(raw) })) } catch
            where [EAGAIN, ECONNABORTED].contains(error.code)
        { return nil }
    }
}
