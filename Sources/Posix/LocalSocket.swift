import CPosix
import Glibc
package import Time

/// A socket with a name in a folder, at which other processes of the machine connect (unix(7), SOCK_STREAM).
package struct LocalListener: ~Copyable, Sendable {
    private let socket: FileDescriptor

    /// - Parameter name: made with mode 0600, and left there in the end; nothing may be there.
    package init(at name: String, in directory: borrowing FileDescriptor) throws(SystemError) {
        let socket = try FileDescriptor.streamSocket()
        let raw = socket.raw
        try socket.bind(to: name, in: directory)
        try check("listen") { listen(raw, 16) }
        self.socket = socket
    }

    /// For `poll`; readable when somebody connects.
    package var raw: Int32 { socket.raw }

    /// The next connection that waits; nil if there is none.
    package func accept() -> LineChannel? {
        let accepted = posix_accept(raw)
        return accepted < 0 ? nil : LineChannel(FileDescriptor(taking: accepted))
    }
}

/// One end of a connection between processes of the machine: a line of text each way, within limits of size and time.
package struct LineChannel: ~Copyable, Sendable {
    private let socket: FileDescriptor

    fileprivate init(_ socket: consuming FileDescriptor) { self.socket = socket }

    /// Connects to a listener.
    ///
    /// - Parameter name: of its socket.
    /// - Throws: `ENOTSOCK` when anything else has that name, a link too; `ENOENT` and `ECONNREFUSED` when nobody listens
    ///   there; `ETIMEDOUT` when too many others wait there.
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
    /// - Throws: `ETIMEDOUT` when the other side takes too little of it in time, `EPIPE` when it has gone.
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

    /// Receives a line. What comes after its end is lost, and so are descriptors that come with it.
    ///
    /// - Parameter limit: bytes of the longest line that is taken.
    /// - Returns: the line without its end. Bytes that are no UTF-8 are replaced.
    /// - Throws: `ETIMEDOUT` when it is not there in time, `EMSGSIZE` when it is too long, `EBADMSG` when the other side ends
    ///   before its line does, `ECONNRESET` when it ends without having read what it was sent.
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
            // A peer that sends a byte at a time gets no longer for it; what has come already is taken.
            if count < chunk.count { try Self.check(deadline, "recv") }
        }
    }

    /// Whether the other side has closed its end, and takes no answer any more.
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
