import Media
import Pixels
import Posix
import Synchronization
import TestSupport
import Testing
import Time
import VideoDecoding
import VideoEncoding

@Suite struct DecodingReceiverTests {
    private final class Shown: Sendable {
        struct State {
            var sizes: [PixelSize] = []
            var cleared = 0
            var sentences: [String] = []
            var requests = 0
            var holds = false
            var takesMore = true
        }

        let state = Mutex(State())

        func receiver() throws -> DecodingReceiver {
            try DecodingReceiver { [self] picture in
                while state.withLock({ $0.holds }) { MonotonicClock.sleep(for: .milliseconds(1)) }
                return state.withLock { state in
                    state.sizes.append(picture.size)
                    return state.takesMore
                }
            } clear: { [self] in
                state.withLock { $0.cleared += 1 }
            } report: { [self] sentence in
                state.withLock { $0.sentences.append(sentence) }
            }
        }

        func request() { state.withLock { $0.requests += 1 } }
    }

    private static let keyframe = frame(isKeyframe: true)

    private static func frame(isKeyframe: Bool) -> ReceivedFrame {
        let size = PixelSize(width: 64, height: 48)
        var encoder = try! VideoEncoder(VideoEncoderConfiguration(codec: .vp8, size: size, targetBitrate: 500_000))
        let picture = NV12Picture(size: size)
        let bytes = try! encoder.encode(picture, presentationTime: .seconds(1)) { _, data in
            data.withUnsafeBufferPointer { Array($0) }
        }
        return ReceivedFrame(codec: .vp8, isKeyframe: isKeyframe, timestamp: 0, bytes: bytes!)
    }

    @Test func picturesComeAndAreClearedInTheEnd() throws {
        let shown = Shown()
        let receiver = try shown.receiver()
        defer { receiver.close() }
        receiver.begin { shown.request() }
        receiver.receive(Self.keyframe)
        try wait(until: "a picture is there") { shown.state.withLock { $0.sizes.count } == 1 }
        receiver.end()
        try wait(until: "it is gone") { shown.state.withLock { $0.cleared } == 1 }
        #expect(shown.state.withLock { $0.requests } == 0)
    }

    /// What cannot be decoded is told once and asked for anew; the next keyframe is shown.
    @Test func damageAsksForAKeyframe() throws {
        let shown = Shown()
        let receiver = try shown.receiver()
        defer { receiver.close() }
        receiver.begin { shown.request() }
        let damaged = ReceivedFrame(codec: .vp9, isKeyframe: true, timestamp: 0, bytes: [1, 2, 3])
        receiver.receive(damaged)
        try wait(until: "a keyframe is asked for") { shown.state.withLock { $0.requests } == 1 }
        receiver.receive(damaged)
        try wait(until: "another one is asked for") { shown.state.withLock { $0.requests } == 2 }
        receiver.receive(ReceivedFrame(codec: .vp8, isKeyframe: false, timestamp: 0, bytes: Self.keyframe.bytes))
        receiver.receive(Self.keyframe)
        try wait(until: "a picture is there") { shown.state.withLock { $0.sizes.count } == 1 }
        #expect(shown.state.withLock { $0.sentences.count } == 1)
    }

    /// A peer whose pictures are too large is not asked for more of them, and may send smaller ones.
    @Test func whatIsNotTakenIsNotAskedForAgain() throws {
        let shown = Shown()
        let receiver = try shown.receiver()
        defer { receiver.close() }
        receiver.begin { shown.request() }
        // 65536x65536.
        let bytes: [UInt8] = [0x82, 0x49, 0x83, 0x42, 0x2F, 0xFF, 0xFF, 0xFF, 0xF0, 0]
        receiver.receive(ReceivedFrame(codec: .vp9, isKeyframe: true, timestamp: 0, bytes: bytes))
        try wait(until: "it is told") { shown.state.withLock { $0.sentences.count } == 1 }
        receiver.receive(ReceivedFrame(codec: .vp9, isKeyframe: false, timestamp: 0, bytes: bytes))
        receiver.receive(Self.keyframe)
        try wait(until: "a picture is there") { shown.state.withLock { $0.sizes.count } == 1 }
        #expect(shown.state.withLock { $0.requests } == 0)
    }

    /// The next peer may come before the picture of the last one is taken away.
    @Test func thePictureOfAnEarlierPeerGoes() throws {
        let shown = Shown()
        let receiver = try shown.receiver()
        defer { receiver.close() }
        receiver.begin { shown.request() }
        shown.state.withLock { $0.holds = true }
        receiver.receive(Self.keyframe)
        receiver.end()
        receiver.begin { shown.request() }
        shown.state.withLock { $0.holds = false }
        try wait(until: "it is gone") { shown.state.withLock { $0.cleared } == 1 }
        receiver.receive(Self.keyframe)
        try wait(until: "another one is there") { shown.state.withLock { !$0.sizes.isEmpty } }
        receiver.begin { shown.request() }
        try wait(until: "that is gone, too") { shown.state.withLock { $0.cleared } == 2 }
    }

    /// When the window is closed, the call goes on without decoding.
    @Test func whatNobodySeesIsNotDecoded() throws {
        let shown = Shown()
        let receiver = try shown.receiver()
        defer { receiver.close() }
        receiver.begin { shown.request() }
        shown.state.withLock { $0.takesMore = false }
        receiver.receive(Self.keyframe)
        try wait(until: "a picture is there") { shown.state.withLock { $0.sizes.count } == 1 }
        for _ in 0..<3 * DecodingReceiver.limit { receiver.receive(Self.keyframe) }
        receiver.end()
        receiver.begin { shown.request() }
        receiver.receive(Self.keyframe)
        receiver.close()
        let (pictures, cleared) = shown.state.withLock { ($0.sizes.count, $0.cleared) }
        #expect(pictures == 1 && cleared == 0)
    }

    /// Frames that come faster than they are shown are dropped, and nobody waits.
    @Test func whatIsTooMuchIsDropped() throws {
        let shown = Shown()
        let receiver = try shown.receiver()
        defer { receiver.close() }
        receiver.begin { shown.request() }
        shown.state.withLock { $0.holds = true }
        for _ in 0..<3 * DecodingReceiver.limit { receiver.receive(Self.keyframe) }
        #expect(shown.state.withLock { $0.requests } >= 1)
        shown.state.withLock { $0.holds = false }
        receiver.receive(Self.keyframe)
        try wait(until: "a picture is there") { shown.state.withLock { !$0.sizes.isEmpty } }
        #expect(shown.state.withLock { $0.sizes.count } <= 2 * DecodingReceiver.limit)
    }
}
