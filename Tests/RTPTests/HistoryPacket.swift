import Time

@testable import RTP

extension PacketHistory.Packet {
    var payload: [UInt8] {
        var bytes: [UInt8] = []
        write(to: &bytes)
        return bytes
    }

    var capturedAt: Instant { frame.capturedAt }
    var captureTime: Instant { frame.captureTime }
    var ticks: UInt64 { frame.ticks }
    var appendedAt: Instant { frame.appendedAt }
    var frameNumber: UInt16 { frame.number }
    var keyframe: (width: UInt16, height: UInt16)? { frame.keyframe }
}

extension PacketHistory {
    /// Appends a frame of so many packets.
    func append(_ packets: Int, isKeyframe: Bool, at now: Instant) {
        append(
            frame: [UInt8](repeating: 9, count: packets * 990),
            isKeyframe: isKeyframe,
            dimensions: (64, 64),
            capturedAt: now,
            now: now
        )
    }
}
