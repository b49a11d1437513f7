/// A whole encoded frame as a peer sent it.
package struct ReceivedFrame: Equatable, Sendable {
    package let codec: VideoCodec
    /// Whether it can be decoded without the frames before, as its packets say.
    package let isKeyframe: Bool
    /// When the picture was captured, in ticks of 90 kHz from anywhere, modulo 2³².
    package let timestamp: UInt32
    /// What a decoder takes at once; of AV1 a temporal unit in the low-overhead format. Never empty.
    package let bytes: [UInt8]

    package init(codec: VideoCodec, isKeyframe: Bool, timestamp: UInt32, bytes: [UInt8]) {
        self.codec = codec
        self.isKeyframe = isKeyframe
        self.timestamp = timestamp
        self.bytes = bytes
    }
}

/// Takes what peers send, one peer at a time. No method waits.
package protocol FrameReceiver: AnyObject, Sendable {
    /// A peer has come, and frames of an earlier one are over.
    ///
    /// - Parameter requestKeyframe: asks the peer for a keyframe. Frames then begin anew with one. May be called by any thread.
    func begin(_ requestKeyframe: @escaping @Sendable () -> Void)

    /// Takes the next frame. The first one is a keyframe, and so is the one after a loss.
    func take(_ frame: ReceivedFrame)

    /// The peer has gone.
    func end()
}
