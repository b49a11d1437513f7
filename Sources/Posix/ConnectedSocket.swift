import Glibc

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

    /// For `poll`; owned by the socket.
    package var raw: Int32 { descriptor.raw }

    /// Sends a piece.
    ///
    /// - Returns: bytes sent: 0 while there is no room, or no connection yet.
    /// - Throws: for example `ECONNREFUSED`, also for an earlier piece.
    package func send(_ bytes: [UInt8]) throws(SystemError) -> Int {
        do { return try check("send") { Glibc.send(raw, bytes, bytes.count, Int32(MSG_NOSIGNAL)) } } catch
            where error.code == EAGAIN || error.code == ENOBUFS
        { return 0 }
    }

    /// Takes the next piece.
    ///
    /// - Parameter limit: the most bytes. The rest of a datagram is lost.
    /// - Returns: nil if there is none; no bytes at the end of a stream.
    /// - Throws: for example `ECONNREFUSED` if the port is closed.
    package func receive(limit: Int) throws(SystemError) -> [UInt8]? {
        var buffer = [UInt8](repeating: 0, count: limit)
        do {
            let count = try check("recv") { recv(raw, &buffer, limit, 0) }
            return Array(buffer[..<count])
        } catch  where error.code == EAGAIN { return nil }
    }
}
