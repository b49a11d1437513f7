import Link
import Posix
import TLS
import Time

/// The connection of one link: TCP, TLS, and the messages in it.
final class LinkSocket {
    enum Event {
        /// TLS is there.
        ///
        /// - certificate: the SHA-256 of the server's (DER).
        case opened(certificate: [UInt8])
        case message([UInt8])
        case ended
    }

    /// Bytes that wait for the other side. One that takes nothing loses its link.
    private static let mostWaiting = 24 << 20
    /// What is sent must be acknowledged by then.
    private static let patience = Duration.seconds(10)
    /// Of what is read at once, in bytes.
    static let bufferSize = 1 << 16

    private let socket: ConnectedSocket
    private let tls: TLSStream
    private var wire = LinkWire()
    private var isOpen = false
    private(set) var hasEnded = false
    /// When a connection that is to be closed is cut, sent or not; nil while it is used.
    private(set) var cutAt: Instant?

    init(_ role: TLSStream.Role, over socket: consuming ConnectedSocket, of endpoint: TLSEndpoint) throws {
        tls = try TLSStream(role, of: endpoint)
        try socket.setNoDelay()
        try socket.setPatience(Self.patience)
        self.socket = socket
    }

    var raw: Int32 { socket.raw }
    /// Whether it waits until the network takes more.
    var wantsWrite: Bool { !tls.output.isEmpty }

    func send(_ message: [UInt8]) {
        if cutAt == nil { tls.write(LinkWire.framed(message)) }
    }

    /// Closes the connection once all is sent, or by an instant.
    func close(by instant: Instant) {
        if cutAt != nil { return }
        tls.close()
        cutAt = instant
    }

    /// Sends what waits.
    func flush() {
        do throws(SystemError) {
            while !tls.output.isEmpty {
                let count = try socket.send(tls.output)
                if count == 0 { break }
                tls.dropOutput(count)
            }
        } catch {
            hasEnded = true
        }
        if tls.output.count > Self.mostWaiting || cutAt != nil && tls.output.isEmpty { hasEnded = true }
    }

    /// Reads a piece of what is there.
    ///
    /// - Parameters:
    ///   - longest: of the next message, in bytes; asked for each one.
    ///   - handle: gets each event. It may send, and close.
    func read(into buffer: inout [UInt8], longest: () -> Int, handle: (Event) -> Void) {
        var isOver = false
        do throws(SystemError) {
            guard let count = try socket.receive(into: &buffer) else { return }
            if count == 0 { isOver = true } else { tls.receive(buffer[..<count]) }
        } catch {
            isOver = true
        }
        if cutAt == nil { take(&buffer, longest, handle) }
        switch tls.state {
        case .closed, .failed: isOver = true
        case .handshaking, .open: break
        }
        guard isOver, !hasEnded else { return }
        // The reason of a failure goes to the other side.
        flush()
        hasEnded = true
        if cutAt == nil { handle(.ended) }
    }

    private func take(_ buffer: inout [UInt8], _ longest: () -> Int, _ handle: (Event) -> Void) {
        if !isOpen, tls.state == .open, let certificate = tls.serverCertificate {
            isOpen = true
            handle(.opened(certificate: certificate))
        }
        while cutAt == nil, case let count = tls.read(into: &buffer), count > 0 {
            wire.receive(buffer[..<count])
            do throws(LinkWire.TooLong) {
                while cutAt == nil, let message = try wire.next(longest: longest()) { handle(.message(message)) }
            } catch {
                hasEnded = true
                handle(.ended)
                return
            }
        }
    }

}
