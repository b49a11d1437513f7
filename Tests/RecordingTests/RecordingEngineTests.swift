import Containers
import Control
import Media
import TestSupport
import Testing
import Time

@testable import Recording

@Suite struct RecordingEngineTests {
    /// An engine, and the files that it writes.
    private struct Scene {
        var engine: RecordingEngine
        var now = Instant.seconds(100)
        /// ms.
        private(set) var whole: [Int64] = []
        private(set) var dates: [Double] = []
        private(set) var keyframeRequests = 0
        private(set) var isOpen = false
        private(set) var bytes = 0

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

        mutating func act(_ body: (inout RecordingEngine, Instant) -> Void) {
            body(&engine, now)
            follow()
        }

        private mutating func follow() {
            for action in engine.takeActions() {
                switch action {
                case .open(let date):
                    #expect(!isOpen)
                    isOpen = true
                    dates.append(date)
                case .append(let head, let content):
                    #expect(isOpen)
                    bytes += head.count + content.count
                case .patch: #expect(isOpen)
                case .close(let end):
                    #expect(isOpen)
                    isOpen = false
                    whole.append(end.duration)
                case .requestKeyframe: keyframeRequests += 1
                case .tell: break
                }
            }
        }
    }

    @Test func aFileBeginsWithAKeyframe() {
        var scene = Scene()
        #expect(scene.keyframeRequests == 1)
        scene.picture()
        #expect(!scene.isOpen)
        scene.picture(isKeyframe: true)
        #expect(scene.isOpen)
        #expect(scene.dates == [1_000_000_100])
        scene.wait(3)
        scene.act { $0.end(at: $1) }
        #expect(scene.whole == [3000])
    }

    /// An hour of a still screen is small, and needs no keyframe but the first.
    @Test func aStillScreenIsSmall() {
        var scene = Scene()
        scene.picture(isKeyframe: true, size: 100_000)
        scene.rest(for: 3600)
        scene.act { $0.end(at: $1) }
        #expect(scene.whole == [3_600_000])
        #expect(scene.bytes < 1 << 20, "\(scene.bytes)")
        #expect(scene.keyframeRequests == 1)
    }

    @Test func soundWithoutAnyIsSmallToo() {
        var scene = Scene(offersSound: true)
        scene.picture(isKeyframe: true, size: 100_000)
        scene.rest(for: 3600)
        scene.act { $0.end(at: $1) }
        #expect(scene.bytes < 5 << 18, "\(scene.bytes)")
    }

    @Test func segmentsAddUp() {
        var settings = RecordingEngine.Settings()
        settings.segmentTime = .seconds(60)
        var scene = Scene(settings)
        scene.picture(isKeyframe: true)
        scene.rest(for: 300)
        scene.act { $0.end(at: $1) }
        #expect(scene.whole.count == 5)
        // The keyframe of a cut is no earlier than the picture before.
        #expect(300_000...300_010 ~= scene.whole.reduce(0, +))
        #expect(scene.whole.allSatisfy { 58_000...62_000 ~= $0 })
    }

    @Test func aSegmentHasASize() {
        var settings = RecordingEngine.Settings()
        settings.segmentSize = 10_000
        var scene = Scene(settings)
        scene.picture(isKeyframe: true, size: 1000)
        for _ in 0..<30 {
            let requests = scene.keyframeRequests
            scene.wait(0.1)
            scene.picture(size: 1000)
            if scene.keyframeRequests > requests { scene.picture(isKeyframe: true, size: 1000) }
        }
        #expect(scene.whole.count >= 2)
    }

    /// Invariant: paused.
    @Test func nothingOfAPauseIsInAFile() {
        var scene = Scene()
        scene.picture(isKeyframe: true)
        scene.wait(1)
        scene.take(.horizon(scene.now))
        scene.take(.paused(true, since: scene.now))
        #expect(scene.whole == [1000])
        scene.picture(isKeyframe: true)
        #expect(!scene.isOpen)
        scene.wait(20)
        scene.take(.paused(false, since: scene.now))
        scene.picture()
        #expect(!scene.isOpen)
        scene.picture(isKeyframe: true)
        scene.wait(1)
        scene.act { $0.end(at: $1) }
        #expect(scene.whole == [1000, 1000])
        #expect(scene.dates == [1_000_000_100, 1_000_000_121])
    }

    @Test func aPersonPauses() {
        var scene = Scene()
        scene.picture(isKeyframe: true)
        scene.wait(1)
        scene.act { $0.pause(at: $1) }
        #expect(scene.whole == [1000])
        scene.picture(isKeyframe: true)
        #expect(!scene.isOpen)
        let requests = scene.keyframeRequests
        scene.act { $0.resume(at: $1) }
        #expect(scene.keyframeRequests == requests + 1)
        scene.picture(isKeyframe: true)
        #expect(scene.isOpen)
    }

    /// The keyframe for a cut may come while a person pauses.
    @Test func aKeyframeDuringAPauseIsNotTheOneThatIsAwaited() {
        var scene = Scene()
        scene.picture(isKeyframe: true)
        scene.act { $0.cut(at: $1) }
        scene.act { $0.pause(at: $1) }
        scene.picture(isKeyframe: true)
        let requests = scene.keyframeRequests
        scene.act { $0.resume(at: $1) }
        #expect(scene.keyframeRequests == requests + 1)
    }

    @Test func aRequestThatWasLostIsRepeated() {
        var scene = Scene()
        for _ in 0..<10 {
            scene.wait(1)
            scene.picture()
        }
        #expect(scene.keyframeRequests == 6, "at once, and each 2 s")
    }

    @Test func aCutGoesOnInAnotherFile() {
        var scene = Scene()
        scene.picture(isKeyframe: true)
        scene.wait(1)
        scene.act { $0.cut(at: $1) }
        scene.picture()
        #expect(scene.whole == [], "what comes before the keyframe belongs to the first")
        scene.wait(0.5)
        scene.picture(isKeyframe: true)
        #expect(scene.whole == [1500])
        #expect(scene.isOpen)
    }

    @Test func anotherCodecIsAnotherFile() throws {
        var scene = Scene()
        scene.picture(isKeyframe: true)
        scene.wait(1)
        scene.picture(.vp9)
        #expect(scene.whole == [])
        scene.picture(isKeyframe: true, .vp9)
        #expect(scene.whole == [1000])
        #expect(scene.isOpen)
    }

    /// A sender that dies and comes back within seconds leaves one file, with a keyframe in it.
    @Test func aFeedThatComesBackGoesOn() {
        var scene = Scene()
        scene.picture(isKeyframe: true)
        scene.wait(1)
        scene.act { engine, _ in engine.feedEnded() }
        scene.wait(3)
        scene.take(.begin(version: 1, offersSound: false))
        #expect(scene.keyframeRequests == 2)
        scene.picture()
        scene.picture(isKeyframe: true)
        scene.wait(1)
        scene.act { $0.end(at: $1) }
        #expect(scene.whole == [5000])
    }

    /// No jump becomes a duration.
    @Test func aLongGapIsInNoFile() {
        var scene = Scene()
        scene.picture(isKeyframe: true)
        scene.wait(1000)
        #expect(scene.whole == [100])
        scene.picture(isKeyframe: true)
        scene.wait(1)
        scene.act { $0.end(at: $1) }
        #expect(scene.whole == [100, 1000])
    }

    @Test(arguments: [-1000, -5, 6, 100_000.0]) func timesThatLieMakeNoFileLong(seconds: Double) {
        var scene = Scene()
        scene.picture(isKeyframe: true)
        for _ in 0..<10 {
            scene.wait(1)
            scene.picture(isKeyframe: true, at: scene.now + .seconds(seconds))
            scene.picture(isKeyframe: true)
        }
        scene.act { $0.end(at: $1) }
        #expect(scene.whole.allSatisfy { $0 <= 10_001 })
    }

    @Test func soundThatComesLaterBeginsAFile() {
        var scene = Scene()
        scene.picture(isKeyframe: true)
        scene.wait(1)
        scene.take(.sound([1], at: scene.now))
        scene.picture(isKeyframe: true)
        #expect(scene.whole == [1000])
        scene.take(.sound([1], at: scene.now))
        scene.wait(1)
        scene.act { $0.end(at: $1) }
        #expect(scene.whole.count == 2)
    }

    /// Seeking needs keyframes, but not where nothing happens.
    @Test func motionGetsKeyframes() {
        var scene = Scene()
        scene.picture(isKeyframe: true)
        for _ in 0..<1000 {
            scene.wait(0.1)
            scene.picture(size: 10_000)
        }
        #expect(scene.keyframeRequests > 1)
        let requests = scene.keyframeRequests
        scene.picture(isKeyframe: true)
        for _ in 0..<100 {
            scene.wait(0.1)
            scene.picture(size: 10_000)
        }
        #expect(scene.keyframeRequests == requests)
    }

    @Test func afterAFullDiskAnotherFileBegins() {
        var scene = Scene()
        scene.picture(isKeyframe: true)
        scene.act { engine, _ in engine.fileFailed() }
        scene.picture(isKeyframe: true)
        #expect(scene.dates.count == 1)
        let requests = scene.keyframeRequests
        scene.act { $0.fileMayBegin(at: $1) }
        #expect(scene.keyframeRequests == requests + 1)
    }
}
