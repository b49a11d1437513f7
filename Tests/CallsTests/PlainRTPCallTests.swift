import Calls
import Glibc
import Media
import Posix
import RTP
import Synchronization
import TestSupport
import Testing
import Time

/// A receiver on the loopback with its own two sockets.
struct Receiver: ~Copyable {
    let rtp: UDPSocket
    let rtcp: UDPSocket
    let port: UInt16

    init(family: Int32, port: UInt16) throws {
        let rtp = try UDPSocket(family: family, port: port)
        self.init(rtp, try UDPSocket(family: family, port: port + 1), port)
    }

    private init(_ rtp: consuming UDPSocket, _ rtcp: consuming UDPSocket, _ port: UInt16) {
        self.rtp = rtp
        self.rtcp = rtcp
        self.port = port
    }

    /// Any two ports next to each other.
    static func anywhere(family: Int32) throws -> Receiver {
        while true {
            let rtp = try UDPSocket(family: family)
            let port = try rtp.localAddress().port
            guard port < 65535, let rtcp = try? UDPSocket(family: family, port: port + 1) else { continue }
            return Receiver(rtp, rtcp, port)
        }
    }

    /// Waits for the next datagram on a socket, for no longer than a broken test may hang.
    static func next(_ socket: borrowing UDPSocket) throws -> (bytes: [UInt8], source: SocketAddress) {
        var buffer = [UInt8](repeating: 0, count: 2048)
        let end: Instant = MonotonicClock.now() + patience
        while MonotonicClock.now() < end {
            if let (count, source) = try socket.receive(into: &buffer) { return (Array(buffer[..<count]), source) }
            var items = [PollItem(socket.raw)]
            try poll(&items, until: end)
        }
        throw NothingCame()
    }

    private struct NothingCame: Error {}
}

@Suite struct PlainRTPCallTests {
    static let hosts = [(AF_INET, "127.0.0.1"), (AF_INET6, "[::1]")]

    private let target = TargetBitrate(2_500_000)

    func call(_ host: String, _ port: UInt16) throws -> PlainRTPCall {
        try PlainRTPCall(to: RTPDestination(parsing: "rtp://\(host):\(port)").resolve(), media(target))
    }

    func media(_ target: TargetBitrate, _ codec: VideoCodec = .vp8) -> SentMedia {
        SentMedia(codecs: [[codec]], renditions: [rendition(codec)], target: target) { _ in
        } removeSink: { _ in
        }
    }

    func rendition(_ codec: VideoCodec = .vp8) -> Rendition {
        Rendition(
            id: id,
            codec: codec,
            width: 640,
            height: 360,
            framesPerSecond: 30,
            bitrate: target.bitsPerSecond
        )
    }

    private let id = Rendition.ID(3)

    /// Returns whether the call took it.
    func send(_ size: Int, isKeyframe: Bool = false, captureTime: Instant? = nil, on call: PlainRTPCall) -> Bool {
        let count = call.statistics.frames
        let now: Instant = MonotonicClock.now()
        let frame = EncodedFrame(
            rendition: id,
            isKeyframe: isKeyframe,
            dimensions: (640, 360),
            capturedAt: now,
            captureTime: captureTime ?? now
        )
        call.send([UInt8](repeating: 7, count: size).span, frame)
        return call.statistics.frames > count
    }

    func wantsKeyframe(_ call: PlainRTPCall) -> Bool {
        let now: Instant = MonotonicClock.now()
        return call.demand(for: id, at: now).keyframeAt.map { now >= $0 } ?? false
    }

    @Test(arguments: hosts)
    func deliversPicturesReportsAndGoodbye(family: Int32, host: String) throws {
        let receiver = try Receiver.anywhere(family: family)
        let call = try call(host, receiver.port)
        #expect(call.localAddress.port % 2 == 0)
        #expect(send(100_000, isKeyframe: true, on: call))
        var size = 0
        var packet: RTPPacket
        repeat {
            let (bytes, source) = try Receiver.next(receiver.rtp)
            #expect(source.port == call.localAddress.port)
            packet = try RTPPacket(parsing: bytes)
            size += packet.payload.count - 6
        } while !packet.header.marker
        #expect(size == 100_000)

        let (report, source) = try Receiver.next(receiver.rtcp)
        #expect(source.port == call.localAddress.port + 1)
        guard case .senderReport(let sender) = try RTCPPacket.parse(report).first else {
            Issue.record("a sender report comes first")
            return
        }
        #expect(sender.ssrc == packet.header.ssrc)

        // A picture loss indication is taken from either port.
        let ssrc = (0..<4).map { UInt8(truncatingIfNeeded: sender.ssrc >> (24 - 8 * $0)) }
        let loss: [UInt8] = [0x81, 206, 0, 2, 0, 0, 0, 1] + ssrc
        var address = call.localAddress
        try receiver.rtp.send(loss[...], to: address)
        try wait(until: "a keyframe is asked for") { wantsKeyframe(call) }
        #expect(send(100, isKeyframe: true, on: call))
        address.port += 1
        try receiver.rtcp.send(loss[...], to: address)
        try wait(until: "another keyframe is asked for") { wantsKeyframe(call) }
        #expect(call.statistics.keyframeRequests == 2)

        call.close()
        call.close()
        #expect(!send(10, on: call))
        var last: RTCPPacket?
        repeat {
            last = try RTCPPacket.parse(try Receiver.next(receiver.rtcp).bytes).last
        } while last != .goodbye([sender.ssrc])
    }

    /// Whether it is the receiver's own or shows in its reports.
    @Test func theEncoderFollowsAnEstimateOfTheLink() throws {
        let receiver = try Receiver.anywhere(family: AF_INET)
        let call = try call("127.0.0.1", receiver.port)
        defer { call.close() }
        func demand() -> Demand { call.demand(for: id, at: MonotonicClock.now()) }
        #expect(demand().limit == nil)
        #expect(demand().linkRate == nil)
        // 400 kb/s: 3125 times 2⁷.
        let estimate: [UInt8] =
            [0x8F, 206, 0, 5, 0, 0, 0, 1, 0, 0, 0, 0] + Array("REMB".utf8) + [0x01, 0x1C, 0x0C, 0x35, 0, 0, 0, 9]
        try receiver.rtp.send(estimate[...], to: call.localAddress)
        try wait(until: "the estimate is taken") { demand().linkRate != nil }
        #expect(320_000...340_000 ~= demand().limit ?? 0)
        #expect(demand().linkRate == 340_000)
        #expect(demand().keepsSize)
        // It carries that.
        target.set(200_000)
        #expect(demand().limit == nil)
        #expect(call.sessionDescription.contains("\r\nb=AS:200\r\n"))
        target.set(1_000_000)
        #expect(320_000...340_000 ~= demand().limit ?? 0)
    }

    /// Dropped, they would need another keyframe, and what comes behind that would be dropped again.
    @Test func whatComesBehindALargeKeyframeWaits() throws {
        let receiver = try Receiver.anywhere(family: AF_INET)
        let destination = try RTPDestination(parsing: "rtp://127.0.0.1:\(receiver.port)").resolve()
        let call = try PlainRTPCall(to: destination, media(TargetBitrate(300_000)))
        defer { call.close() }
        // Takes half a second to send.
        #expect(send(80_000, isKeyframe: true, on: call))
        for _ in 0..<10 { #expect(send(100, on: call)) }
        #expect(!wantsKeyframe(call))
    }

    /// Nothing can be decoded before the next keyframe then, and that is dropped too while there is no room.
    @Test func whatComesWhileTooMuchWaitsIsDropped() throws {
        let receiver = try Receiver.anywhere(family: AF_INET)
        let destination = try RTPDestination(parsing: "rtp://127.0.0.1:\(receiver.port)").resolve()
        let call = try PlainRTPCall(to: destination, media(TargetBitrate(30_000)))
        defer { call.close() }
        // Takes half a minute to send.
        #expect(send(500_000, isKeyframe: true, on: call))
        #expect(!send(10, on: call) && !send(10, isKeyframe: true, on: call))
        #expect(call.demand(for: id, at: MonotonicClock.now()).keyframeAt != nil)
        #expect(call.statistics.frames == 1)
    }

    /// What waits for its turn when the broadcast is paused does not leave any more, and neither does what was encoded then.
    /// Invariant: paused.
    @Test func whatWasTakenBeforeTheHorizonIsNotSent() throws {
        let receiver = try Receiver.anywhere(family: AF_INET)
        let horizon = Horizon()
        var media = media(TargetBitrate(200_000))
        media.horizon = { horizon.instant.withLock { $0 } }
        let destination = try RTPDestination(parsing: "rtp://127.0.0.1:\(receiver.port)").resolve()
        let call = try PlainRTPCall(to: destination, media)
        defer { call.close() }
        // Takes seconds to send, also on a busy machine.
        #expect(send(700_000, isKeyframe: true, on: call))
        #expect(call.demand(for: id, at: MonotonicClock.now()).isFullUntil != nil)
        let pausedAt: Instant = MonotonicClock.now()
        horizon.instant.withLock { $0 = pausedAt }
        try wait(until: "what waited is gone") {
            call.demand(for: id, at: MonotonicClock.now()).isFullUntil == nil
        }
        try wait(until: "another keyframe is asked for") { wantsKeyframe(call) }
        // A picture that stood still since before is not sent either.
        #expect(!send(10, isKeyframe: true, captureTime: pausedAt - .nanoseconds(1), on: call))
        // Only the beginning of the first picture is followed by the new one.
        #expect(send(333, isKeyframe: true, on: call))
        var bytes = 0
        while true {
            let packet = try RTPPacket(parsing: try Receiver.next(receiver.rtp).bytes)
            bytes += packet.payload.count
            if packet.header.marker { break }
        }
        #expect(bytes < 600_000)
        #expect(call.statistics.frames == 2)
    }

    private final class Horizon: Sendable {
        let instant = Mutex<Instant?>(nil)
    }

    @Test(arguments: hosts)
    func asksForAKeyframeWhenAListenerAppears(family: Int32, host: String) throws {
        // A port nobody listens on: one that was just given back.
        let port = try Receiver.anywhere(family: family).port
        let call = try call(host, port)
        defer { call.close() }
        #expect(send(5000, isKeyframe: true, on: call))
        try wait(until: "the refusal is noticed") { !call.statistics.receiverListening }
        #expect(send(5000, on: call), "the call goes on")
        let receiver = try Receiver(family: family, port: port)
        try wait(until: "a keyframe is asked for") { wantsKeyframe(call) }
        #expect(call.statistics.receiverListening)
        #expect(send(100, isKeyframe: true, on: call))
        while try Receiver.next(receiver.rtp).bytes.count < 100 {}
    }

    @Test func saysWhatIsWrong() throws {
        let unresolved = #expect(throws: CallEnd.self) { try call("name.invalid", 5004) }
        #expect(unresolved?.kind == .unavailable && unresolved?.reason == .failed)
        let taken = try Receiver.anywhere(family: AF_INET)
        let destination = try RTPDestination(parsing: "rtp://127.0.0.1:5004").resolve()
        let error = #expect(throws: CallEnd.self) {
            try PlainRTPCall(to: destination, media(target), localPort: taken.port)
        }
        #expect(error?.kind == .failed && error?.reason == .failed)
        #expect(
            error?.description
                == "the local ports \(taken.port) and \(taken.port + 1) cannot both be used (Address already in use): "
                + "choose another --local-port"
        )
    }

    @Test func usesTheLocalPortItIsGiven() throws {
        let port = try Receiver.anywhere(family: AF_INET).port
        let call = try PlainRTPCall(
            to: RTPDestination(parsing: "rtp://127.0.0.1:5004").resolve(),
            media(target, .vp9),
            localPort: port
        )
        #expect(call.localAddress.port == port)
        let text = call.sessionDescription
        #expect(text.contains(" 1 IN IP4 127.0.0.1\r\n"))
        #expect(text.contains("c=IN IP4 127.0.0.1\r\n") && text.contains("m=video 5004 RTP/AVPF 96\r\n"))
        call.close()
    }
}
