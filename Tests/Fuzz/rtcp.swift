import Media
import RTP
import Time

/// A datagram of RTCP that was opened, as a stream takes it.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    guard let packets = try? RTCPPacket.parse(bytes) else { return 0 }
    var random = SplitMix64(seed: 1)
    let history = PacketHistory(codec: .vp8, maximumPayloadSize: 100, capacity: 32, using: &random)
    let sound = PacketHistory(soundOf: 100, capacity: 32)
    var now = Instant(nanoseconds: 1 << 40)
    var video = OutgoingStream.Parameters(payloadType: 96, retransmissionPayloadType: count % 2 == 0 ? 97 : nil)
    var opus = OutgoingStream.Parameters(payloadType: 111, retransmissionPayloadType: nil)
    (video.mid, opus.mid) = ("0", "1")
    var streams = StreamBundle(
        [(video, history), (opus, sound)],
        pace: .video(targetBitrate: 1_000_000),
        clock: ClockReading(monotonic: now, wall: 1 << 60),
        using: &random
    )
    var output: [UInt8] = []
    for round in 0..<3 {
        history.append(
            frame: [UInt8](repeating: 1, count: 500),
            isKeyframe: round == 0,
            dimensions: (64, 64),
            capturedAt: now,
            now: now
        )
        sound.append(sound: [UInt8](repeating: 1, count: 50), capturedAt: now, now: now)
        while streams.writeNext(at: now, to: &output) {}
        for packet in packets { streams.receive(packet, now: now) }
        while streams.writeNext(at: now, to: &output) {}
        _ = streams.writeReport(at: now, to: &output)
        if let deadline = streams.nextDeadline { precondition(deadline > now) }
        now += .milliseconds(20)
    }
    return 0
}
