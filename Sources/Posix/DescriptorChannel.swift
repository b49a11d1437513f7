import CPosix
import Glibc
package import Time

/// One end of a pair of sockets, by which a process asks another one for descriptors, and gets them (SCM_RIGHTS, unix(7)). It may also send
/// notes.
package struct DescriptorChannel: ~Copyable, Sendable {
    /// A message of the process that asks.
    package enum Message: Equatable {
        case question
        case note(String)
        /// It has gone.
        case end
    }

    private static let question: UInt8 = 0
    private static let note: UInt8 = 1
    private static let longestMessage = 65_536

    private let socket: FileDescriptor

    package init(taking socket: consuming FileDescriptor) { self.socket = socket }

    /// For `poll`; readable if there is a question or an answer, or if the other process has gone.
    package var raw: Int32 { socket.raw }

    // MARK: - The process that asks

    package func ask() throws(SystemError) { try send([Self.question]) }

    /// Sends a note, if there is room for it.
    package func note(_ text: String) { try? send([Self.note] + Array(text.utf8)) }

    private func send(_ message: [UInt8]) throws(SystemError) {
        let raw = raw
        try check("send") { Glibc.send(raw, message, message.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT)) }
    }

    /// Asks and sends no more, and waits until the other process has taken everything, and closes its end.
    package func finish(until deadline: Instant) {
        shutdown(raw, Int32(SHUT_WR))
        var item = pollfd(fd: raw, events: 0, revents: 0)
        let rest = max(.zero, deadline - MonotonicClock.now()) / .milliseconds(1)
        _ = Glibc.poll(&item, 1, Int32(rest))
    }

    /// The descriptor that was asked for. Waits until it comes.
    ///
    /// - Throws: `ECONNRESET` if the other process has gone, `EBADMSG` if it has refused.
    package func take() throws(SystemError) -> FileDescriptor {
        let raw = raw
        return FileDescriptor(taking: try check("recvmsg") { posix_receive_descriptor(raw) })
    }

    // MARK: - The process that answers

    /// The next message; nil if none has come.
    package func receive() -> Message? {
        var bytes = [UInt8](repeating: 0, count: Self.longestMessage)
        let count = recv(raw, &bytes, bytes.count, Int32(MSG_DONTWAIT))
        if count < 0, errno == EAGAIN || errno == EINTR { return nil }
        guard count > 0 else { return .end }
        return bytes[0] == Self.note ? .note(String(decoding: bytes[1..<count], as: UTF8.self)) : .question
    }

    /// Answers a question by no descriptor.
    package func refuse() {
        var none: UInt8 = 0
        _ = Glibc.send(raw, &none, 1, Int32(MSG_NOSIGNAL))
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
