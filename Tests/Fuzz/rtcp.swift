import RTP

/// A datagram of RTCP that was opened, as a stream takes it; and the same bytes as RTP.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    _ = try? RTPPacket(parsing: bytes)
    guard let packets = try? RTCPPacket.parse(bytes) else { return 0 }
    var random = SplitMix64(seed: 1)
    var sender = VideoSender(
        VideoSender.Parameters(payloadType: 96, retransmissionPayloadType: count % 2 == 0 ? 97 : nil, mid: "0"),
        pace: .video(targetBitrate: 1_000_000),
        clock: ClockReading(monotonic: 1 << 40, wall: 1 << 60),
        using: &random
    )
    var history = PacketHistory(codec: .vp8, maximumPayloadSize: 100, capacity: 32, using: &random)
    var now: UInt64 = 1 << 40
    var output: [UInt8] = []
    for round in 0..<3 {
        history.append(
            frame: [UInt8](repeating: 1, count: 500).span,
            isKeyframe: round == 0,
            dimensions: (64, 64),
            capturedAt: now,
            now: now
        )
        while sender.writeNext(at: now, from: history, to: &output) {}
        for packet in packets { sender.receive(packet, now: now) }
        while sender.writeNext(at: now, from: history, to: &output) {}
        _ = sender.writeReport(at: now, to: &output)
        if let deadline = sender.nextDeadline(history) { precondition(deadline > now) }
        now += 20_000_000
    }
    return 0
}
