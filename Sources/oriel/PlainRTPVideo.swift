import Calls
import Pixels
import RTP
import Sender

/// A plain RTP call as the sender sees it: frames of one size go in.
struct PlainRTPVideo: VideoCall {
    let call: PlainRTPCall
    let size: PixelSize

    func send(_ frame: Span<UInt8>, isKeyframe: Bool, capturedAt: UInt64) {
        call.send(
            frame: frame,
            isKeyframe: isKeyframe,
            dimensions: (UInt16(size.width), UInt16(size.height)),
            capturedAt: capturedAt
        )
    }

    func takeKeyframeRequest() -> Bool { call.takeKeyframeRequest() }

    var backlog: UInt64 { call.backlog.duration }
}
