import Calls
import FrameBridge
import Media
import Pixels
import Posix
import RTP
import Sender
import VideoEncoding

/// A plain RTP call as the sender sees it: frames of one size go in.
struct PlainRTPVideo: VideoCall {
    let call: PlainRTPCall
    let size: PixelSize
    let codec: VideoCodec

    var bell: Bell { call.bell }

    var codecs: [VideoCodec] { call.receiverListening ? [codec] : [] }

    func send(
        _ frame: Span<UInt8>,
        codec: VideoCodec,
        isKeyframe: Bool,
        capturedAt: UInt64,
        takenAt: UInt64
    ) {
        call.send(
            frame: frame,
            isKeyframe: isKeyframe,
            dimensions: (UInt16(size.width), UInt16(size.height)),
            capturedAt: capturedAt,
            takenAt: takenAt
        )
    }

    func takeKeyframeRequest(_: VideoCodec) -> Bool { call.takeKeyframeRequest() }

    /// A plain receiver is told of one codec.
    func prefer(_: VideoCodec) {}

    var backlog: UInt64 { call.backlog.duration }

    /// A plain receiver has no way to be told.
    func noteLiveness(_: Liveness) {}
}
