import Containers
import Control
import Media
import TestSupport
import Testing
import Time

@testable import Recording

@Suite struct RecordingEngineTests {
    @Test func aFileBeginsWithAKeyframe() {
        var scene = EngineScene()
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
        var scene = EngineScene()
        scene.picture(isKeyframe: true, size: 100_000)
        scene.rest(for: 3600)
        scene.act { $0.end(at: $1) }
        #expect(scene.whole == [3_600_000])
        #expect(scene.bytes < 1 << 20, "\(scene.bytes)")
        #expect(scene.keyframeRequests == 1)
    }

    @Test func soundWithoutAnyIsSmallToo() {
        var scene = EngineScene(offersSound: true)
        scene.picture(isKeyframe: true, size: 100_000)
        scene.rest(for: 3600)
        scene.act { $0.end(at: $1) }
        #expect(scene.bytes < 5 << 18, "\(scene.bytes)")
    }

    /// The times in a cluster have 16 bits.
    @Test func silenceIsFilledWhilePicturesCome() {
        var scene = EngineScene(offersSound: true)
        scene.picture(isKeyframe: true)
        scene.take(.sound([1], at: scene.now))
        var packets = 0
        for _ in 0..<1000 {
            scene.wait(0.1)
            packets = scene.sounds
            scene.picture()
            #expect(scene.sounds - packets <= 2)
        }
        #expect(820...840 ~= scene.sounds, "a packet of 20 ms, and then one each 120 ms up to 0.7 s ago")
    }

    @Test func aMutedRecorderKeepsASilentTrack() {
        var scene = EngineScene(offersSound: true)
        scene.act { engine, _ in engine.isMuted = true }
        scene.picture(isKeyframe: true)
        for _ in 0..<500 {
            scene.wait(0.02)
            scene.take(.sound([1, 2, 3], at: scene.now))
            scene.picture()
        }
        #expect(75...85 ~= scene.sounds, "silence in packets of 120 ms")
        scene.act { engine, _ in engine.isMuted = false }
        for _ in 0..<100 {
            scene.wait(0.02)
            scene.take(.sound([1, 2, 3], at: scene.now))
        }
        #expect(scene.sounds > 175)
    }

    @Test func segmentsAddUp() {
        var settings = RecordingEngine.Settings()
        settings.segmentTime = .seconds(60)
        var scene = EngineScene(settings)
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
        var scene = EngineScene(settings)
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
        var scene = EngineScene()
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
        var scene = EngineScene()
        scene.picture(isKeyframe: true)
        scene.wait(1)
        scene.act { $0.hold(.paused, at: $1) }
        #expect(scene.whole == [1000])
        scene.picture(isKeyframe: true)
        #expect(!scene.isOpen)
        let requests = scene.keyframeRequests
        scene.act { $0.release(.paused, at: $1) }
        #expect(scene.keyframeRequests == requests + 1)
        scene.picture(isKeyframe: true)
        #expect(scene.isOpen)
    }

    /// Neither a pause nor its end moves the switch, and the other way round.
    @Test func theSwitchHoldsWhoeverResumes() {
        var scene = EngineScene()
        scene.picture(isKeyframe: true)
        scene.act { $0.hold(.off, at: $1) }
        #expect(scene.whole.count == 1 && scene.engine.state(at: scene.now) == .off)
        scene.act { $0.hold(.paused, at: $1) }
        scene.act { $0.release(.paused, at: $1) }
        scene.picture(isKeyframe: true)
        #expect(!scene.isOpen && scene.engine.state(at: scene.now) == .off)
        scene.act { $0.hold(.paused, at: $1) }
        let requests = scene.keyframeRequests
        scene.act { $0.release(.off, at: $1) }
        scene.picture(isKeyframe: true)
        #expect(!scene.isOpen && scene.engine.state(at: scene.now) == .paused)
        #expect(scene.keyframeRequests == requests)
        scene.act { $0.release(.paused, at: $1) }
        scene.picture(isKeyframe: true)
        #expect(scene.isOpen && scene.keyframeRequests == requests + 1)
    }

    /// The keyframe for a cut may come while a person pauses.
    @Test func aKeyframeDuringAPauseIsNotTheOneThatIsAwaited() {
        var scene = EngineScene()
        scene.picture(isKeyframe: true)
        scene.act { $0.cut(at: $1) }
        scene.act { $0.hold(.paused, at: $1) }
        scene.picture(isKeyframe: true)
        let requests = scene.keyframeRequests
        scene.act { $0.release(.paused, at: $1) }
        #expect(scene.keyframeRequests == requests + 1)
    }

    @Test func aRequestThatWasLostIsRepeated() {
        var scene = EngineScene()
        for _ in 0..<10 {
            scene.wait(1)
            scene.picture()
        }
        #expect(scene.keyframeRequests == 6, "at once, and each 2 s")
    }

    @Test func aCutGoesOnInAnotherFile() {
        var scene = EngineScene()
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
        var scene = EngineScene()
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
        var scene = EngineScene()
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

    /// The clock of the feed stands still meanwhile.
    @Test func aSuspendBeginsAnotherFile() {
        var scene = EngineScene()
        scene.picture(isKeyframe: true)
        scene.wait(1)
        scene.picture()
        let requests = scene.keyframeRequests
        scene.act { $0.slept(at: $1) }
        #expect(scene.whole == [1100] && scene.keyframeRequests == requests + 1)
        scene.picture()
        #expect(!scene.isOpen)
        scene.picture(isKeyframe: true)
        #expect(scene.isOpen)
    }

    /// No jump becomes a duration.
    @Test func aLongGapIsInNoFile() {
        var scene = EngineScene()
        scene.picture(isKeyframe: true)
        scene.wait(1000)
        #expect(scene.whole == [100])
        scene.picture(isKeyframe: true)
        scene.wait(1)
        scene.act { $0.end(at: $1) }
        #expect(scene.whole == [100, 1000])
    }

    @Test(arguments: [-1000, -5, 6, 100_000.0]) func timesThatLieMakeNoFileLong(seconds: Double) {
        var scene = EngineScene()
        scene.picture(isKeyframe: true)
        for _ in 0..<10 {
            scene.wait(1)
            scene.picture(isKeyframe: true, at: scene.now + .seconds(seconds))
            scene.picture(isKeyframe: true)
        }
        scene.act { $0.end(at: $1) }
        #expect(scene.whole.allSatisfy { $0 <= 10_001 })
    }

    /// A file for each keyframe, as fast as they come.
    @Test func aSenderThatLiesMakesFewFiles() {
        var scene = EngineScene()
        for count in 0..<2000 {
            scene.wait(0.033)
            scene.picture(isKeyframe: true, at: count % 2 == 0 ? scene.now : scene.now - .seconds(8))
        }
        #expect(scene.dates.count < 100, "\(scene.dates.count) in 66 s")
    }

    @Test func soundThatComesLaterBeginsAFile() {
        var scene = EngineScene()
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
        var scene = EngineScene()
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
        var scene = EngineScene()
        scene.picture(isKeyframe: true)
        scene.act { engine, _ in engine.fileFailed() }
        scene.picture(isKeyframe: true)
        #expect(scene.dates.count == 1)
        let requests = scene.keyframeRequests
        scene.act { $0.fileMayBegin(at: $1) }
        #expect(scene.keyframeRequests == requests + 1)
    }
}
