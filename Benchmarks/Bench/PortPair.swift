import Glibc
import Posix
import Synchronization
import Time

/// A pair of free UDP ports for RTP and RTCP, the first one even.
func freePortPair() throws -> UInt16 {
    for port in stride(from: UInt16.random(in: 20_000..<25_000) * 2, to: 60_000, by: 2) {
        if isFree(port) && isFree(port + 1) { return port }
    }
    throw BenchError("no free pair of UDP ports")
}

private func isFree(_ port: UInt16) -> Bool { (try? UDPSocket(family: AF_INET, port: port)) != nil }

/// Counts all packets that arrive at a pair of ports, on a thread of its own.
final class PortDrain: Sendable {
    let port: UInt16
    private let counted = Atomic<Int>(0)
    private let markers = Atomic<Int>(0)
    private let isOver = Atomic<Bool>(false)

    init() throws {
        let port = try freePortPair()
        self.port = port
        let media = try UDPSocket(family: AF_INET, port: port)
        let control = try UDPSocket(family: AF_INET, port: port + 1)
        let sockets = Sockets(media, control)
        _ = try Thread { [self] in
            var buffer = [UInt8](repeating: 0, count: 65536)
            while !isOver.load(ordering: .relaxed) {
                waitReadable(sockets.media.raw, sockets.control.raw, until: MonotonicClock.now() + .milliseconds(100))
                while let datagram = try? sockets.media.receive(into: &buffer) {
                    counted.add(datagram.count, ordering: .relaxed)
                    if buffer[1] & 0x80 != 0 { markers.add(1, ordering: .relaxed) }
                }
                while (try? sockets.control.receive(into: &buffer)) != nil {}
            }
        }
    }

    /// Bytes of media so far.
    var bytes: Int { counted.load(ordering: .relaxed) }

    /// RTP packets with the marker bit so far: the last ones of their pictures.
    var pictures: Int { markers.load(ordering: .relaxed) }

    func stop() { isOver.store(true, ordering: .relaxed) }

    /// An escaping closure cannot take over the sockets themselves.
    private final class Sockets: Sendable {
        let media: UDPSocket
        let control: UDPSocket

        init(_ media: consuming UDPSocket, _ control: consuming UDPSocket) {
            self.media = media
            self.control = control
        }
    }
}
