import Calls
import Glibc
import Media
import Posix
import Synchronization
import TestSupport
import Testing
import Time

@testable import RTP

/// Sound beside the pictures of a plain call, on sockets of the loopback.
@Suite struct PlainRTPSoundTests {
    /// The four ports of a receiver.
    private struct Place: ~Copyable {
        let pictures: Receiver
        let sound: Receiver

        init(family: Int32) throws {
            while true {
                let pictures = try Receiver.anywhere(family: family)
                guard pictures.port < 65532, let sound = try? Receiver(family: family, port: pictures.port + 2) else {
                    continue
                }
                self.pictures = pictures
                self.sound = sound
                return
            }
        }
    }

    private static let rendition = Rendition(
        id: Rendition.ID(3),
        codec: .vp8,
        width: 640,
        height: 360,
        framesPerSecond: 30,
        bitrate: 2_500_000
    )

    private func call(
        _ host: String,
        _ port: UInt16,
        hasSound: Bool = true,
        horizon: @escaping @Sendable () -> Instant? = { nil }
    ) throws -> PlainRTPCall {
        let destination = try RTPDestination(parsing: "rtp://\(host):\(port)").resolve()
        let target = TargetBitrate(2_500_000)
        var media = SentMedia(codecs: [[.vp8]], renditions: [Self.rendition], target: target) { _ in
        } removeSink: { _ in
        }
        (media.offersSound, media.soundHorizon) = ({ hasSound }, horizon)
        return try PlainRTPCall(to: destination, media)
    }

    private func hear(_ packet: [UInt8], at capturedAt: Instant = MonotonicClock.now(), on call: PlainRTPCall) {
        call.send(sound: packet.span, EncodedSound(capturedAt: capturedAt))
    }

    @Test(arguments: PlainRTPCallTests.hosts)
    func soundGoesToThePortsAfterThoseOfPictures(family: Int32, host: String) throws {
        let place = try Place(family: family)
        let call = try call(host, place.pictures.port)
        defer { call.close() }
        let demand = call.soundDemand(at: MonotonicClock.now())
        #expect(demand == SoundDemand(isWanted: true, isKeptAlive: true))
        let start: Instant = MonotonicClock.now()
        for number in 0..<3 {
            hear([UInt8](repeating: UInt8(number), count: 100), at: start + EncodedSound.duration * number, on: call)
        }
        var packets: [RTPPacket] = []
        for number in 0..<3 {
            let (bytes, source) = try Receiver.next(place.sound.rtp)
            #expect(source.port % 2 == 0 && source.port != call.localAddress.port)
            let packet = try RTPPacket(parsing: bytes)
            #expect(packet.payload == [UInt8](repeating: UInt8(number), count: 100))
            #expect(packet.header.payloadType == 111)
            packets.append(packet)
        }
        #expect(packets[2].header.timestamp &- packets[0].header.timestamp == 1920)
        #expect(packets.map(\.header.marker) == [true, false, false])

        // Both streams have one name and one clock, by which they play together.
        let now: Instant = MonotonicClock.now()
        let frame = EncodedFrame(
            rendition: Self.rendition.id,
            isKeyframe: true,
            dimensions: (640, 360),
            capturedAt: now,
            captureTime: now
        )
        call.send([UInt8](repeating: 7, count: 100).span, frame)
        let picture = try RTPPacket(parsing: try Receiver.next(place.pictures.rtp).bytes)
        let datagrams = try [Receiver.next(place.sound.rtcp), Receiver.next(place.pictures.rtcp)].map(\.bytes)
        let names = datagrams.map { CanonicalName.all(in: $0).first?.name }
        #expect(names[0] != nil && names[0] == names[1])
        let reports = try datagrams.map { try RTCPPacket.parse($0) }
        let told = reports.compactMap { if case .senderReport(let report) = $0[0] { report } else { nil } }
        #expect(told.map(\.ssrc) == [packets[0].header.ssrc, picture.header.ssrc])
        /// When something was captured, in seconds of the wall clock, by a sender report.
        func time(_ header: RTPHeader, _ report: SenderReport, rate: Double) -> Double {
            let ticks = Int32(bitPattern: header.timestamp &- report.rtpTimestamp)
            return Double(report.ntpTime.rawValue) / 4_294_967_296 + Double(ticks) / rate
        }
        let lag = time(picture.header, told[1], rate: 90_000) - time(packets[0].header, told[0], rate: 48_000)
        #expect(abs(lag - (now - start).seconds) < 0.001)

        call.close()
        hear([1], on: call)
        var last: RTCPPacket?
        repeat {
            last = try RTCPPacket.parse(try Receiver.next(place.sound.rtcp).bytes).last
        } while last != .goodbye([packets[0].header.ssrc])
        #expect(!call.soundDemand(at: MonotonicClock.now()).isWanted)
    }

    /// An instant that a test sets for a call.
    private final class Shared: Sendable {
        private let instant = Mutex<Instant?>(nil)
        var value: Instant? {
            get { instant.withLock(\.self) }
            set { instant.withLock { $0 = newValue } }
        }
    }

    @Test func whatWasHeardBeforeTheHorizonIsNotSent() throws {
        let place = try Place(family: AF_INET)
        let horizon = Shared()
        let call = try call("127.0.0.1", place.pictures.port) { horizon.value }
        defer { call.close() }
        let start: Instant = MonotonicClock.now()
        hear([1], at: start, on: call)
        let (bytes, source) = try Receiver.next(place.sound.rtp)
        let packet = try RTPPacket(parsing: bytes)
        horizon.value = start + .seconds(1)
        // Neither sent, nor sent again.
        hear([2], at: start + .milliseconds(999), on: call)
        var lost: [UInt8] = []
        GenericNACK(sender: 1, media: packet.header.ssrc, lost: [packet.header.sequenceNumber]).write(to: &lost)
        try place.sound.rtp.send(lost[...], to: source)
        // What is asked for later is answered later.
        hear([3], at: start + .seconds(1), on: call)
        let next = try RTPPacket(parsing: try Receiver.next(place.sound.rtp).bytes)
        #expect(next.payload == [3])
        #expect(next.header.sequenceNumber == packet.header.sequenceNumber &+ 1)
        lost.removeAll()
        GenericNACK(
            sender: 1,
            media: next.header.ssrc,
            lost: [packet.header.sequenceNumber, next.header.sequenceNumber]
        )
        .write(to: &lost)
        try place.sound.rtp.send(lost[...], to: source)
        #expect(try RTPPacket(parsing: try Receiver.next(place.sound.rtp).bytes) == next)
    }

    @Test func reportsTellOfLoss() throws {
        let place = try Place(family: AF_INET)
        let call = try call("127.0.0.1", place.pictures.port)
        defer { call.close() }
        hear([1], on: call)
        let (bytes, source) = try Receiver.next(place.sound.rtp)
        var address = source
        address.port += 1
        let block = ReportBlock(
            ssrc: try RTPPacket(parsing: bytes).header.ssrc,
            fractionLost: 64,
            cumulativeLost: 1,
            highestSequenceNumber: 9,
            jitter: 0,
            lastSenderReport: 0,
            delaySinceLastSenderReport: 0
        )
        var report: [UInt8] = []
        ReceiverReport(ssrc: 1, reports: [block]).write(to: &report)
        try place.sound.rtcp.send(report[...], to: address)
        try wait(until: "the report is read") { call.soundDemand(at: MonotonicClock.now()).lossRatio == 0.25 }
    }

    @Test func aCallWithoutSoundHasNone() throws {
        let place = try Place(family: AF_INET)
        let call = try call("127.0.0.1", place.pictures.port, hasSound: false)
        defer { call.close() }
        #expect(call.soundDemand(at: MonotonicClock.now()) == .none)
        #expect(!call.sessionDescription.contains("audio"))
        hear([1], on: call)
        // Nor does one to whose ports there are none after.
        for port in [65533, 65534] as [UInt16] {
            let last = try self.call("127.0.0.1", port)
            #expect(last.soundDemand(at: MonotonicClock.now()) == .none)
            #expect(!last.sessionDescription.contains("audio"))
            last.close()
        }
    }

    @Test func theDescriptionNamesBoth() throws {
        let place = try Place(family: AF_INET)
        let call = try call("127.0.0.1", place.pictures.port)
        defer { call.close() }
        let lines = call.sessionDescription.split(whereSeparator: \.isNewline).map(String.init)
        let sound = try #require(lines.firstIndex { $0.hasPrefix("m=audio") })
        #expect(
            lines[sound...].elementsEqual([
                "m=audio \(place.sound.port) RTP/AVPF 111", "a=rtpmap:111 opus/48000/2",
                "a=fmtp:111 sprop-stereo=1;stereo=1;useinbandfec=1", "a=rtcp-fb:111 nack", "a=recvonly",
            ])
        )
        let without = try self.call("127.0.0.1", place.pictures.port, hasSound: false)
        defer { without.close() }
        let others = without.sessionDescription.split(whereSeparator: \.isNewline).map(String.init)
        #expect(Array(lines[..<sound].dropFirst(2)) == Array(others.dropFirst(2)))
    }
}
