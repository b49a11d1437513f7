import CPosix
import Glibc
package import Time

/// A socket with a name in a folder, for connections from other processes of the machine (unix(7), SOCK_STREAM).
package struct LocalListener: ~Copyable, Sendable {
    private let socket: FileDescriptor

    /// - Parameter name: made with mode 0600, and left there at the end. The name must be free.
    package init(at name: String, in directory: borrowing FileDescriptor) throws(SystemError) {
        let socket = try FileDescriptor.streamSocket()
        let raw = socket.raw
        try socket.bind(to: name, in: directory)
        try check("listen") { listen(raw, 16) }
        self.socket = socket
    }

    /// For `poll`; readable if a connection waits.
    package var raw: Int32 { socket.raw }

    /// The next waiting connection; nil if there is none.
    package func accept() -> LineChannel? {
        let accepted = posix_accept(raw)
        return accepted < 0 ? nil : LineChannel(FileDescriptor(taking: accepted))
    }
}

/// One end of a connection between processes of the machine: a line of text each way, limited in size and time.
package struct LineChannel: ~Copyable, Sendable {
    private let socket: FileDescriptor

    fileprivate init(_ socket: consuming FileDescriptor) { self.socket = socket }

    /// Connects to a listener.
    ///
    /// - Parameter name: of its socket.
    /// - Throws: `ENOTSOCK` if anything else has that name, even a link; `ENOENT` and `ECONNREFUSED` if there is no
    ///   listener; `ETIMEDOUT` if too many others wait there.
    package init(
        to name: String,
        in directory: borrowing FileDescriptor,
        until deadline: Instant
    ) throws(SystemError) {
        let socket = try FileDescriptor.streamSocket()
        // A link could lead to any other socket of this user.
        while posix_connect_at(socket.raw, directory.raw, name) != 0 {
            guard errno == EAGAIN || errno == EINTR else { throw SystemError("connect") }
            let now = MonotonicClock.now()
            guard now < deadline else { throw SystemError("connect", code: ETIMEDOUT) }
            MonotonicClock.sleep(until: now + .milliseconds(1))
        }
        self.socket = socket
    }

    /// Sends a line and its end.
    ///
    /// - Parameter line: without a line feed.
    /// - Throws: `ETIMEDOUT` if the other side reads too little of it in time, `EPIPE` if it has gone.
    package func send(_ line: String, until deadline: Instant) throws(SystemError) {
        var bytes = Array((line + "\n").utf8)[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes {
                Glibc.send(socket.raw, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            if count >= 0 {
                bytes = bytes.dropFirst(count)
            } else if errno == EAGAIN {
                try Self.check(deadline, "send")
                try waitWritable(socket.raw, until: deadline)
            } else if errno != EINTR {
                throw SystemError("send")
            }
        }
    }

    /// Receives a line. Anything after its end is lost, and so are descriptors that come with it.
    ///
    /// - Parameter limit: bytes of the longest line.
    /// - Returns: the line without its end. Invalid UTF-8 is replaced.
    /// - Throws: `ETIMEDOUT` if it does not come in time, `EMSGSIZE` if it is too long, `EBADMSG` if the other side
    ///   ends before its line does, `ECONNRESET` if it ends with unread data.
    package func receive(limit: Int, until deadline: Instant) throws(SystemError) -> String {
        var line: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = chunk.withUnsafeMutableBytes { recv(socket.raw, $0.baseAddress, $0.count, 0) }
            if count == 0 { throw SystemError("recv", code: EBADMSG) }
            if count < 0 {
                guard errno == EAGAIN || errno == EINTR else { throw SystemError("recv") }
                try Self.check(deadline, "recv")
                waitReadable(socket.raw, until: deadline)
                continue
            }
            let end = chunk[..<count].firstIndex(of: UInt8(ascii: "\n"))
            line += chunk[..<(end ?? count)]
            if line.count > limit { throw SystemError("recv", code: EMSGSIZE) }
            if end != nil { return String(decoding: line, as: UTF8.self) }
            // A peer that sends single bytes gets no more time. Bytes that came already are taken.
            if count < chunk.count { try Self.check(deadline, "recv") }
        }
    }

    /// The connection itself, which does not block.
    package consuming func release() -> FileDescriptor { socket }

    /// Whether the other side has closed its end, and reads no answer any more.
    package var isAbandoned: Bool {
        var item = pollfd(fd: socket.raw, events: 0, revents: 0)
        return Glibc.poll(&item, 1, 0) > 0 && Int32(item.revents) & POLLHUP != 0
    }

    private static func check(_ deadline: Instant, _ call: String) throws(SystemError) {
        if MonotonicClock.now() >= deadline { throw SystemError(call, code: ETIMEDOUT) }
    }
}

extension FileDescriptor {
    fileprivate static func streamSocket() throws(SystemError) -> FileDescriptor {
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        return FileDescriptor(taking: try check("socket") { Glibc.socket(AF_UNIX, kind, 0) })
    }
}
