import Containers
import Control
import Media
import TestSupport
import Testing
import Time

@testable import Recording

/// An engine, and the files that it writes.
struct EngineScene {
    var engine: RecordingEngine
    var now = Instant.seconds(100)
    /// ms.
    private(set) var whole: [Int64] = []
    private(set) var dates: [Double] = []
    private(set) var keyframeRequests = 0
    private(set) var isOpen = false
    private(set) var bytes = 0
    /// Packets in all files.
    private(set) var sounds = 0
    /// Of clips.
    private(set) var news: [String] = []

    init(_ settings: RecordingEngine.Settings = RecordingEngine.Settings(), offersSound: Bool = false) {
        engine = RecordingEngine(settings, epoch: 1_000_000_000)
        take(.begin(version: 1, offersSound: offersSound))
    }

    mutating func take(_ message: FeedMessage) {
        engine.take(message, at: now)
        follow()
    }

    mutating func picture(
        isKeyframe: Bool = false,
        _ codec: VideoCodec = .vp8,
        at instant: Instant? = nil,
        size: Int = 100
    ) {
        let picture = FeedPicture(
            codec: codec,
            isKeyframe: isKeyframe,
            width: 64,
            height: 48,
            shownAt: instant ?? now,
            captureTime: instant ?? now
        )
        take(.picture(picture, [UInt8](repeating: 7, count: size)))
    }

    /// Pictures at rest, a keyframe where one is asked for.
    mutating func rest(for seconds: Int) {
        for _ in 0..<seconds / 2 {
            let requests = keyframeRequests
            picture()
            if keyframeRequests > requests { picture(isKeyframe: true) }
            wait(2)
        }
    }

    mutating func wait(_ seconds: Double) {
        let end = now + .seconds(seconds)
        while let deadline = engine.deadline, deadline < end {
            now = max(now, deadline)
            engine.turn(at: now)
            follow()
        }
        now = end
    }

    mutating func act(_ body: (inout RecordingEngine, Instant) throws -> Void) rethrows {
        try body(&engine, now)
        follow()
    }

    /// A part of the screen changes that is no caret and no clock, and the sender tells.
    mutating func move() {
        var change = TileChange(columns: 30, rows: 17)
        for index in 0..<100 { change[index % 10, index / 10] = true }
        take(.changed(change, at: now))
        picture()
    }

    private mutating func follow() {
        for action in engine.takeActions() {
            switch action {
            case .open(let date, _):
                #expect(!isOpen)
                isOpen = true
                dates.append(date)
            case .append(let head, let content):
                #expect(isOpen)
                bytes += head.count + content.count
                // Number of the track, time and flags stand before the frame.
                if head.count >= 4, head[head.count - 4] == 0x82 { sounds += 1 }
            case .patch: #expect(isOpen)
            case .close(let end):
                #expect(isOpen)
                isOpen = false
                whole.append(end.duration)
            case .requestKeyframe: keyframeRequests += 1
            case .requestPause: break
            case .tell(.clipBegan(let cause)): news.append("\(cause)")
            case .tell(.clipEnded(let reason)): news.append("\(reason)")
            case .tell: break
            }
        }
    }
}
