import CPosix
import Glibc

/// One end of a pair of sockets, by which a process asks another one for descriptors, and gets them (SCM_RIGHTS, unix(7)).
package struct DescriptorChannel: ~Copyable, Sendable {
    private let socket: FileDescriptor

    package init(taking socket: consuming FileDescriptor) { self.socket = socket }

    /// For `poll`; readable if there is a question or an answer, or if the other process has gone.
    package var raw: Int32 { socket.raw }

    // MARK: - The process that asks

    package func ask() throws(SystemError) {
        let raw = raw
        var question: UInt8 = 0
        try check("send") { send(raw, &question, 1, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT)) }
    }

    /// The descriptor that was asked for. Waits until it comes.
    ///
    /// - Throws: `ECONNRESET` if the other process has gone.
    package func take() throws(SystemError) -> FileDescriptor {
        let raw = raw
        return FileDescriptor(taking: try check("recvmsg") { posix_receive_descriptor(raw) })
    }

    // MARK: - The process that answers

    /// Waits for a question. Returns false if the other process has gone.
    package func waitForQuestion() -> Bool {
        var question: UInt8 = 0
        let raw = raw
        return (try? check("recv") { recv(raw, &question, 1, 0) }) == 1
    }

    /// Whether the other process has gone.
    package var isAbandoned: Bool {
        var item = pollfd(fd: raw, events: 0, revents: 0)
        return Glibc.poll(&item, 1, 0) > 0 && Int32(item.revents) & POLLHUP != 0
    }

    package func give(_ descriptor: consuming FileDescriptor) throws(SystemError) {
        let (raw, given) = (raw, descriptor.raw)
        try check("sendmsg") { posix_send_descriptor(raw, nil, given) }
    }
}

/// Two ends for a `DescriptorChannel`. The caller closes both. No started program inherits one by itself.
package func openDescriptorChannel() throws(SystemError) -> (Int32, Int32) {
    var ends: [Int32] = [-1, -1]
    try check("socketpair") {
        socketpair(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends)
    }
    return (ends[0], ends[1])
}
