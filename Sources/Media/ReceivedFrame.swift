/// A whole encoded frame from a peer.
package struct ReceivedFrame: Equatable, Sendable {
    package let codec: VideoCodec
    /// Whether it can be decoded alone, according to its packets.
    package let isKeyframe: Bool
    /// When the picture was captured, in ticks of 90 kHz from any beginning, modulo 2³².
    package let timestamp: UInt32
    /// A unit for a decoder; for AV1 a temporal unit in the low-overhead format. Never empty.
    package let bytes: [UInt8]

    package init(codec: VideoCodec, isKeyframe: Bool, timestamp: UInt32, bytes: [UInt8]) {
        self.codec = codec
        self.isKeyframe = isKeyframe
        self.timestamp = timestamp
        self.bytes = bytes
    }
}

/// Receives the frames of peers, one peer at a time. No method waits.
package protocol FrameReceiver: AnyObject, Sendable {
    /// A peer has come. It replaces an earlier one.
    ///
    /// - Parameter requestKeyframe: asks the peer for a keyframe. Frames then begin anew with one. May be called by any thread.
    func begin(_ requestKeyframe: @escaping @Sendable () -> Void)

    /// Receives the next frame. The first one is a keyframe, and so is the one after a loss.
    func receive(_ frame: ReceivedFrame)

    func end()
}
