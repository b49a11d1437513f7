import CPosix
import Glibc
import Synchronization
package import Time

/// Gives copies of one descriptor to processes that ask at a datagram socket in the file system.
///
/// A client sends one end of a pair of sockets (SCM_RIGHTS, unix(7)), and receives the descriptor at the other end. It
/// needs no socket that could connect to a server.
package final class DescriptorService {
    private let socket: FileDescriptor
    private let gift: FileDescriptor
    private let end: End
    private var thread: Thread?

    /// Starts to serve, on a thread of its own.
    ///
    /// - Parameters:
    ///   - gift: the descriptor whose copies clients get.
    ///   - name: of the socket in `directory`. It is made with mode 0600, and left there at the end.
    package init(
        giving gift: consuming FileDescriptor,
        at name: String,
        in directory: borrowing FileDescriptor
    ) throws(SystemError) {
        let socket = try FileDescriptor.datagramSocket()
        let (asked, given) = (socket.raw, gift.raw)
        try socket.bind(to: name, in: directory)
        let end = End()
        thread = try Thread { Self.serve(given, at: asked, until: end) }
        self.end = end
        self.socket = socket
        self.gift = gift
    }

    /// Both descriptors stay open until the thread has ended.
    deinit {
        end.hasCome.store(true, ordering: .releasing)
        shutdown(socket.raw, Int32(SHUT_RDWR))
        thread.take()?.join()
    }

    private final class End: Sendable {
        let hasCome = Atomic(false)
    }

    private static func serve(_ gift: Int32, at socket: Int32, until end: End) {
        while true {
            let answer = posix_receive_descriptor(socket)
            if end.hasCome.load(ordering: .acquiring) {
                if answer >= 0 { close(answer) }
                return
            }
            guard answer >= 0 else {
                // The next message may be good. But a lack of memory may last.
                MonotonicClock.sleep(for: .milliseconds(1))
                continue
            }
            // A client that does not wait gets nothing.
            _ = posix_send_descriptor(answer, nil, gift)
            close(answer)
        }
    }

    /// Asks a service for its descriptor.
    ///
    /// - Parameters:
    ///   - asker: any datagram socket.
    ///   - deadline: when to give up.
    /// - Throws: `ECONNREFUSED` or `ENOENT` if there is no service, `ETIMEDOUT` if it does not answer.
    package static func ask(
        at name: String,
        in directory: borrowing FileDescriptor,
        with asker: borrowing FileDescriptor,
        until deadline: Instant
    ) throws(SystemError) -> FileDescriptor {
        var ends: [Int32] = [-1, -1]
        try check("socketpair") { socketpair(AF_UNIX, datagram, 0, &ends) }
        let answer = FileDescriptor(taking: ends[0])
        let path = directory.path(of: name)
        do {
            let other = FileDescriptor(taking: ends[1])
            while posix_send_descriptor(asker.raw, path, other.raw) != 0 {
                // The service's queue is full.
                guard errno == EAGAIN, MonotonicClock.now() < deadline else { throw SystemError("sendmsg") }
                MonotonicClock.sleep(for: .milliseconds(1))
            }
        }
        guard waitReadable(answer.raw, until: deadline) else { throw SystemError("recvmsg", code: ETIMEDOUT) }
        let raw = answer.raw
        return FileDescriptor(taking: try check("recvmsg") { posix_receive_descriptor(raw) })
    }

    fileprivate static let datagram = Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue)
}

extension FileDescriptor {
    package static func datagramSocket() throws(SystemError) -> FileDescriptor {
        FileDescriptor(taking: try check("socket") { socket(AF_UNIX, DescriptorService.datagram, 0) })
    }

    /// Gives this Unix socket a name in a directory. Its file gets the mode 0600 before others can see it.
    borrowing func bind(to name: String, in directory: borrowing FileDescriptor) throws(SystemError) {
        try check("fchmod") { fchmod(raw, 0o600) }
        let path = directory.path(of: name)
        try check("bind") { posix_bind_path(raw, path) }
    }

    /// A path to an entry of this directory. It stays valid after a rename of the directory, and is short enough for a
    /// socket.
    borrowing func path(of name: String) -> String { "/proc/self/fd/\(raw)/\(name)" }
}
