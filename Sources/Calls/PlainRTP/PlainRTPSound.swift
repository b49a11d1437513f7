import Glibc
import Media
import Posix
import RTP
import Time

/// The sound of a plain RTP call: a stream to the two ports after those of pictures. One thread at a time uses it. Packets leave at once.
/// Those that the system does not take are lost.
final class PlainRTPSound {
    /// The distance of its ports from those of pictures, at both ends.
    static let portOffset: UInt16 = 2
    static let payloadType: UInt8 = 111
    /// Bytes of an RTP packet with its header.
    private static let maximumPacketSize = 1200
    /// Packets that can be sent again: those of two seconds.
    private static let capacity = 100
    private static let pace = Pacer.Pace.video(targetBitrate: 1_000_000)

    private let ports: PortPair
    private let receiver: SocketAddress
    private let history = PacketHistory(soundOf: maximumPacketSize - RTPHeader.size, capacity: capacity)
    private var work = WorkBudget(sendsVideo: false)
    private var bundle: StreamBundle
    private var (packets, reports) = (DatagramBatch(), DatagramBatch())

    /// - Parameters:
    ///   - receiver: for pictures; its port is 65532 at the most.
    ///   - localPort: that of pictures, 1…65532; nil chooses another.
    ///   - name: the canonical name of both streams, which tells receivers that they belong together.
    ///   - clock: that of both, so that they play together.
    init(
        besides receiver: SocketAddress,
        from localPort: UInt16?,
        name: String,
        clock: ClockReading,
        using random: inout some RandomNumberGenerator
    ) throws(CallEnd) {
        self.receiver = Self.address(besides: receiver)
        ports = try PortPair(to: self.receiver, localPort: localPort.map { $0 + Self.portOffset })
        bundle = StreamBundle(
            [(.init(payloadType: Self.payloadType, retransmissionPayloadType: nil), history)],
            name: name,
            pace: Self.pace,
            judgesReach: false,
            audience: receiver.isMulticast ? .multicast : .one,
            clock: clock,
            using: &random
        )
    }

    /// Whether there are ports for it after those of pictures, at both ends.
    static func fits(besides port: UInt16, from localPort: UInt16?) -> Bool {
        max(port, localPort ?? 1) <= UInt16.max - 1 - portOffset
    }

    var sockets: [Int32] { [ports.rtp.raw, ports.rtcp.raw] }

    static func address(besides receiver: SocketAddress) -> SocketAddress {
        var address = receiver
        address.port += portOffset
        return address
    }

    var statistics: StreamStatistics { bundle.streams[0].statistics }

    func send(_ packet: [UInt8], _ sound: EncodedSound, now: Instant) {
        history.append(sound: packet, capturedAt: sound.capturedAt, now: now)
        flush(now: now)
    }

    /// Sound from before an instant is not sent any more, and not again.
    func forget(heardBefore instant: Instant) { _ = history.forget(takenBefore: instant) }

    /// Receives feedback, up to a limit. Malformed feedback has no effect.
    func receive(_ buffer: inout [UInt8], now: Instant) {
        for _ in 0..<64 {
            // Refusals show on the port of pictures.
            let datagram = (try? ports.rtp.receive(into: &buffer)) ?? (try? ports.rtcp.receive(into: &buffer))
            guard let (count, source) = datagram else { break }
            guard receiver.isMulticast || source.bytes == receiver.bytes else { continue }
            guard work.take(datagramOf: count, at: now),
                let packets = try? RTCPPacket.parse(Array(buffer[..<count]), takesTransportFeedback: false)
            else { continue }
            for packet in packets { bundle.receive(packet, now: now) }
        }
        flush(now: now)
    }

    /// When `flush` has something to send; nil if it has nothing.
    var nextDeadline: Instant? { bundle.nextDeadline }

    func flush(now: Instant) {
        while packets.append({ bundle.writeNext(at: now, to: &$0) }) {}
        reports.append { bundle.writeReport(at: now, to: &$0) }
        send()
    }

    func end(now: Instant) {
        reports.append { bundle.writeGoodbye(at: now, to: &$0) }
        send()
    }

    private func send() {
        if !packets.isEmpty {
            _ = try? ports.rtp.send(packets.bytes, starts: packets.starts, ends: packets.ends, from: 0)
        }
        var address = receiver
        address.port += 1
        for index in 0..<reports.count { try? ports.rtcp.send(reports[index], to: address) }
        packets.removeAll()
        reports.removeAll()
    }
}
