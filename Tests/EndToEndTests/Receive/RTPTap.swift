import Glibc
import Posix
import Synchronization
import TestSupport
import Time

/// Stands between a sender and its receivers: keeps what passes, hands RTP and RTCP on to the receivers, and brings
/// their RTCP back to the sender.
final class RTPTap: Sendable {
    enum Direction: Sendable { case media, control, feedback }

    struct Datagram: Sendable {
        let direction: Direction
        /// Of the monotonic clock, in nanoseconds.
        let time: UInt64
        let bytes: [UInt8]
    }

    /// Even; RTP comes here and RTCP to the next port.
    let port: UInt16
    private let sockets: Sockets
    private let family: Int32
    private let passed = Mutex<[Datagram]>([])
    /// Where the sender's RTCP comes from.
    private let controlSource = Mutex<SocketAddress?>(nil)
    private let isOver = Atomic<Bool>(false)

    /// - Parameters:
    ///   - port: where the sender sends to; nil takes a free pair.
    ///   - receivers: the even ports of the receivers, on the loopback.
    init(port: UInt16? = nil, family: Int32 = AF_INET, receivers: [UInt16] = []) throws {
        let port = try port ?? Ports.free(family)
        self.port = port
        self.family = family
        let sockets = Sockets(
            try UDPSocket(family: family, port: port),
            try UDPSocket(family: family, port: port + 1)
        )
        for socket in [sockets.media.raw, sockets.control.raw] {
            // Beyond what the system grants to everybody, if that may be asked for.
            for option in [SO_RCVBUF, SO_RCVBUFFORCE] {
                var bytes: Int32 = 8 << 20
                setsockopt(socket, SOL_SOCKET, option, &bytes, socklen_t(MemoryLayout<Int32>.size))
            }
        }
        self.sockets = sockets
        let targets = try receivers.map { try Self.loopback(family, $0) }
        _ = try Thread { [weak self] in
            var buffer = [UInt8](repeating: 0, count: 65_536)
            while let tap = self, !tap.isOver.load(ordering: .relaxed) {
                waitReadable(sockets.media.raw, sockets.control.raw, until: MonotonicClock.now() + .milliseconds(50))
                tap.takeMedia(&buffer, targets)
                tap.takeControl(&buffer, targets)
            }
        }
    }

    /// Stops listening, so that the sender is refused.
    func close() { isOver.store(true, ordering: .relaxed) }

    /// All that has passed so far.
    var datagrams: [Datagram] { passed.withLock { $0 } }

    func datagrams(_ direction: Direction, since time: UInt64 = 0) -> [Datagram] {
        passed.withLock { $0.filter { $0.direction == direction && $0.time >= time } }
    }

    /// Sends RTCP to the sender, as a receiver would.
    func send(feedback bytes: [UInt8]) throws {
        guard let sender = controlSource.withLock({ $0 }) else { throw Unexpected("the sender has sent no RTCP yet") }
        try sockets.control.send(bytes[...], to: sender)
    }

    private func takeMedia(_ buffer: inout [UInt8], _ targets: [SocketAddress]) {
        while let (count, _) = try? sockets.media.receive(into: &buffer) {
            keep(.media, buffer[..<count])
            for target in targets { try? sockets.media.send(buffer[..<count], to: target) }
        }
    }

    private func takeControl(_ buffer: inout [UInt8], _ targets: [SocketAddress]) {
        while let (count, source) = try? sockets.control.receive(into: &buffer) {
            if targets.contains(where: { $0.port + 1 == source.port }) {
                keep(.feedback, buffer[..<count])
                if let sender = controlSource.withLock({ $0 }) {
                    try? sockets.control.send(buffer[..<count], to: sender)
                }
                continue
            }
            controlSource.withLock { $0 = source }
            keep(.control, buffer[..<count])
            for var target in targets {
                target.port += 1
                try? sockets.control.send(buffer[..<count], to: target)
            }
        }
    }

    private func keep(_ direction: Direction, _ bytes: ArraySlice<UInt8>) {
        let datagram = Datagram(direction: direction, time: MonotonicClock.now().nanoseconds, bytes: Array(bytes))
        passed.withLock { $0.append(datagram) }
    }

    private static func loopback(_ family: Int32, _ port: UInt16) throws -> SocketAddress {
        try SocketAddress.resolve(host: family == AF_INET6 ? "::1" : "127.0.0.1", port: port)
    }

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

/// Ports that nobody uses, and that the kernel gives to nobody (`ip_local_port_range`).
enum Ports {
    private static let next = Atomic<UInt16>(UInt16.random(in: 10_000..<14_000) * 2)

    /// An even port which is free together with those after it, for this test alone.
    static func free(_ family: Int32 = AF_INET, count: UInt16 = 2) throws -> UInt16 {
        for _ in 0..<1000 {
            let first = next.add(count, ordering: .relaxed).oldValue
            if (first..<first + count).allSatisfy({ isFree($0, family) }) { return first }
        }
        throw Unexpected("no free pair of UDP ports")
    }

    private static func isFree(_ port: UInt16, _ family: Int32) -> Bool {
        (try? UDPSocket(family: family, port: port)) != nil
    }

    /// Whether somebody listens at a UDP port over IPv4. Trying to bind it could keep that program from it.
    static func isTaken(_ port: UInt16) throws -> Bool { try !sockets(at: port).isEmpty }

    /// How many datagrams the kernel had no room for in the open sockets of an IPv4 port and the one after it.
    static func drops(at port: UInt16) throws -> Int {
        try (sockets(at: port) + sockets(at: port + 1)).reduce(0) { $0 + ($1.last.flatMap { Int($0) } ?? 0) }
    }

    /// The lines of proc_net(5) about a UDP port over IPv4, word by word.
    private static func sockets(at port: UInt16) throws -> [[Substring]] {
        let lines = String(decoding: try contents(of: "/proc/net/udp"), as: UTF8.self).split(separator: "\n")
        return lines.dropFirst().map { $0.split(separator: " ") }.filter { words in
            words[1].split(separator: ":").last.flatMap { UInt16($0, radix: 16) } == port
        }
    }
}
