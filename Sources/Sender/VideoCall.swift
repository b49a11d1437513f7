/// Where encoded frames go: one call, with all who look in.
package protocol VideoCall {
    /// Sends a frame. Does not block.
    ///
    /// - Parameters:
    ///   - frame: the encoder's output, one whole VP8 or VP9 frame.
    ///   - capturedAt: the instant that the picture shows: nanoseconds of the monotonic clock.
    func send(_ frame: Span<UInt8>, isKeyframe: Bool, capturedAt: UInt64)

    /// Whether a receiver has asked for a keyframe since the last call and it is time to grant it.
    func takeKeyframeRequest() -> Bool

    /// How long the packets that wait to be sent will take, in nanoseconds.
    var backlog: UInt64 { get }
}
