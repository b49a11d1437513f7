package import FrameBridge
package import Media
package import Posix
import VideoEncoding

/// Where encoded frames go: one call, with all who look in.
package protocol VideoCall {
    /// Rung when `codecs` change or a keyframe is wanted.
    var bell: Bell { get }

    /// The codecs that somebody receives. Nothing is encoded while there are none.
    var codecs: [VideoCodec] { get }

    /// Sends a frame. Does not block.
    ///
    /// - Parameters:
    ///   - frame: the encoder's output, one whole frame.
    ///   - capturedAt: the instant that the picture shows: nanoseconds of the monotonic clock.
    ///   - takenAt: when it was taken from the screen, which is before if it has stood still since: what was taken before the
    ///     broadcast's horizon reaches nobody any more.
    func send(_ frame: Span<UInt8>, codec: VideoCodec, isKeyframe: Bool, capturedAt: UInt64, takenAt: UInt64)

    /// Whether a receiver has asked for a keyframe since the last call and it is time to grant it.
    func takeKeyframeRequest(_ codec: VideoCodec) -> Bool

    /// The codec that suits the picture best now. A call with receivers who take several may move them over.
    func prefer(_ codec: VideoCodec)

    /// How long the packets that wait to be sent will take, in nanoseconds.
    var backlog: UInt64 { get }

    /// The broadcast is well or not, as of now.
    func noteLiveness(_ liveness: Liveness)
}
