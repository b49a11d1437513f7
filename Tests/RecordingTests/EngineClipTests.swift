import Containers
import Control
import Media
import TestSupport
import Testing
import Time

@testable import Recording

@Suite struct EngineClipTests {
    private static func clips(motion: Bool = true, replay: Duration? = nil) -> EngineScene {
        var settings = RecordingEngine.Settings()
        var clips = ClipSettings()
        if motion { clips.sensitivity = 5 }
        settings.clips = clips
        settings.replay = replay
        return EngineScene(settings)
    }

    @Test func aClipHasWhatWasBefore() {
        var scene = Self.clips()
        scene.picture(isKeyframe: true)
        scene.rest(for: 20)
        #expect(!scene.isOpen)
        scene.move()
        #expect(scene.isOpen)
        scene.rest(for: 20)
        #expect(scene.news == ["motion", "quiet"])
        #expect(scene.whole == [15_001], "five seconds before, and ten after, with the picture of that instant")
        #expect(scene.dates == [1_000_000_115])
    }

    /// A recorder reads its feed at leisure.
    @Test func aPictureThatHasWaitedBelongsToTheClipInWhichItWasShown() {
        var scene = Self.clips()
        scene.picture(isKeyframe: true)
        scene.rest(for: 10)
        scene.move()
        let begin = scene.now
        scene.rest(for: 8)
        scene.now = begin + .milliseconds(10_150)
        let bytes = scene.bytes
        scene.picture(at: begin + .milliseconds(9900))
        #expect(scene.isOpen && scene.bytes > bytes)
        scene.picture(at: begin + .milliseconds(10_100))
        #expect(scene.news == ["motion", "quiet"])
    }

    @Test func withoutAPictureItBeginsWithTheNextKeyframe() {
        var scene = Self.clips()
        scene.act { try? $0.trigger(at: $1) }
        #expect(scene.news == ["command"])
        scene.wait(1)
        scene.picture(isKeyframe: true)
        #expect(scene.isOpen)
        scene.rest(for: 20)
        #expect(scene.whole == [9000])
    }

    @Test func motionThatGoesOnIsOneClip() {
        var scene = Self.clips()
        scene.picture(isKeyframe: true)
        scene.rest(for: 10)
        for _ in 0..<200 {
            scene.move()
            scene.wait(0.1)
        }
        scene.rest(for: 40)
        #expect(scene.news == ["motion", "quiet"])
        #expect(scene.whole.count == 1 && 30_000...30_100 ~= scene.whole[0], "\(scene.whole)")
    }

    @Test func aCommandIsHeardAtOnce() throws {
        var scene = Self.clips(motion: false, replay: .seconds(60))
        scene.picture(isKeyframe: true)
        scene.rest(for: 100)
        scene.move()
        #expect(scene.news == [], "nobody asked for motion")
        try scene.act { try $0.trigger(at: $1) }
        #expect(scene.news == ["command"] && scene.isOpen)
        scene.rest(for: 6)
        try scene.act { try $0.trigger(at: $1) }
        scene.rest(for: 60)
        #expect(scene.news == ["command", "quiet"])
        #expect(scene.whole == [21_001])
    }

    /// Invariant: paused.
    @Test func whatAPauseHidesIsInNoClip() throws {
        var scene = Self.clips(replay: .seconds(60))
        scene.picture(isKeyframe: true)
        scene.rest(for: 10)
        scene.take(.horizon(scene.now))
        scene.take(.paused(true, since: scene.now))
        #expect(throws: RecorderRefusal.empty) { try scene.engine.replay(nil, at: scene.now) }
        try scene.act { try $0.trigger(at: $1) }
        #expect(!scene.isOpen)
        scene.wait(2)
        scene.take(.paused(false, since: scene.now))
        let resumed = scene.now
        scene.picture(isKeyframe: true)
        #expect(scene.isOpen, "the clip by command goes on")
        scene.rest(for: 20)
        #expect(scene.dates.allSatisfy { $0 >= 1_000_000_000 + Double(resumed.nanoseconds) / 1e9 })
        let replay = try scene.engine.replay(nil, at: scene.now)
        #expect(replay.date >= 1_000_000_000 + Double(resumed.nanoseconds) / 1e9)
    }

    /// The placard goes, and the screen comes.
    @Test func theEndOfAPauseIsNoMotion() {
        var scene = Self.clips()
        scene.picture(isKeyframe: true)
        scene.rest(for: 10)
        scene.take(.paused(true, since: scene.now))
        scene.wait(2)
        scene.take(.paused(false, since: scene.now))
        scene.picture(isKeyframe: true)
        scene.move()
        #expect(scene.news == [])
        scene.rest(for: 10)
        scene.move()
        #expect(scene.news == ["motion"])
    }

    /// After the end of a sender, nobody tells of a pause.
    @Test func withoutASenderNothingIsReplayed() throws {
        var scene = Self.clips(replay: .seconds(60))
        scene.picture(isKeyframe: true)
        scene.rest(for: 10)
        _ = try scene.engine.replay(nil, at: scene.now)
        scene.act { engine, _ in engine.feedEnded() }
        #expect(throws: RecorderRefusal.empty) { try scene.engine.replay(nil, at: scene.now) }
        scene.move()
        #expect(!scene.isOpen)
    }

    @Test(arguments: [1, 10, 59, 60, 500]) func aReplayHasItsLength(seconds: Int) throws {
        var scene = Self.clips(motion: false, replay: .seconds(60))
        scene.picture(isKeyframe: true)
        scene.rest(for: 200)
        let replay = try scene.engine.replay(.seconds(seconds), at: scene.now)
        #expect(replay.end.duration == Int64(min(seconds, 60)) * 1000)
        #expect(!scene.isOpen && scene.whole == [])
    }

    @Test func offIsOff() throws {
        var scene = Self.clips(replay: .seconds(60))
        scene.picture(isKeyframe: true)
        scene.rest(for: 10)
        scene.move()
        scene.act { $0.hold(.paused, at: $1) }
        #expect(scene.news == ["motion", "off"] && scene.whole.count == 1)
        scene.picture(isKeyframe: true)
        scene.move()
        scene.wait(60)
        #expect(scene.news.count == 2)
        #expect(throws: RecorderRefusal.paused) { try scene.engine.trigger(at: scene.now) }
        #expect(throws: RecorderRefusal.paused) { try scene.engine.replay(nil, at: scene.now) }
        scene.act { $0.hold(.off, at: $1) }
        #expect(throws: RecorderRefusal.off) { try scene.engine.trigger(at: scene.now) }
        #expect(throws: RecorderRefusal.off) { try scene.engine.replay(nil, at: scene.now) }
        scene.act { $0.release(.off, at: $1) }
        scene.act { $0.release(.paused, at: $1) }
        scene.picture(isKeyframe: true)
        scene.move()
        #expect(scene.news.count == 2, "it has changed while nobody looked")
        scene.rest(for: 10)
        scene.move()
        #expect(scene.news.last == "motion")
        #expect(scene.isOpen)
    }

    @Test func whoRecordsEverythingHasNoClips() {
        var scene = EngineScene()
        #expect(throws: RecorderRefusal.recordsAll) { try scene.engine.trigger(at: scene.now) }
        #expect(throws: RecorderRefusal.keepsNothing) { try scene.engine.replay(nil, at: scene.now) }
        scene.move()
        #expect(scene.news == [])
    }

    /// From everything to clips, to others, and back. What was in memory stays there.
    @Test func clipsAreChangedWhole() throws {
        var scene = EngineScene()
        scene.picture(isKeyframe: true)
        scene.rest(for: 10)
        #expect(scene.isOpen)
        var clips = ClipSettings()
        clips.sensitivity = 10
        scene.act { try? $0.change(clips, at: $1) }
        #expect(!scene.isOpen && scene.whole.count == 1)
        scene.picture(isKeyframe: true)
        scene.rest(for: 10)
        (clips.preRollS, clips.initialS) = (2, 4)
        scene.act { try? $0.change(clips, at: $1) }
        scene.rest(for: 6)
        scene.move()
        #expect(scene.isOpen)
        #expect(throws: RecorderRefusal.busy) { try scene.engine.change(nil, at: scene.now) }
        scene.rest(for: 10)
        #expect(scene.whole.last == 6001, "two seconds before, and four after, with the picture of that instant")
        scene.act { try? $0.change(nil, at: $1) }
        scene.picture(isKeyframe: true)
        #expect(scene.isOpen, "everything is written")
        #expect(throws: RecorderRefusal.recordsAll) { try scene.engine.trigger(at: scene.now) }
    }

    @Test func theSameClipsAreNoChange() throws {
        var scene = EngineScene()
        scene.picture(isKeyframe: true)
        scene.act { try? $0.change(nil, at: $1) }
        #expect(scene.isOpen && scene.whole.isEmpty)
    }

    @Test func statesAreTold() throws {
        var scene = Self.clips()
        #expect(scene.engine.state(at: scene.now) == .armed)
        scene.picture(isKeyframe: true)
        scene.rest(for: 10)
        scene.move()
        #expect(scene.engine.state(at: scene.now) == .recording)
        scene.rest(for: 20)
        #expect(scene.engine.state(at: scene.now) == .blind)
        scene.rest(for: 30)
        #expect(scene.engine.state(at: scene.now) == .armed)
        scene.act { $0.hold(.paused, at: $1) }
        #expect(scene.engine.state(at: scene.now) == .paused)
    }
}
