import FrameBridge
import Media
import TestSupport
import Testing
import Time

@testable import Sender
@testable import VideoEncoding

/// The sender's decisions, in virtual time.
@Suite struct SenderEngineTests {
    private static let vp8 = Rendition.small(0)
    private static let other = Rendition.small(1, side: 32)
    private static let av1 = Rendition(
        id: Rendition.ID(2),
        codec: .av1,
        width: 64,
        height: 64,
        framesPerSecond: 60,
        bitrate: 1_000_000
    )
    private static let failure = VideoEncoderError.library(call: "encode", code: 1, reason: "no memory")
    private static let damage = BridgeError.damaged(path: "frames", problem: "slot checksum")

    /// An engine, and what surrounds it.
    private struct Scene {
        var engine: SenderEngine
        var now = Instant.seconds(100)
        var wanted: [Rendition] = []
        var readings: [Encode.Reading] = []
        var preferredCodecs = [VideoCodec.vp8]

        init(isWatched: Bool = true) {
            engine = SenderEngine([vp8, other, av1], isWatched: isWatched, at: now)
        }

        /// A turn, but for the statistics.
        mutating func turn() -> [SenderEngine.Action] { turnWithReports().filter { $0 != .reportStatistics } }

        mutating func turnWithReports() -> [SenderEngine.Action] {
            engine.turn(
                wanted: Set(wanted.map(\.id)),
                readings: readings,
                preferredCodecs: preferredCodecs,
                at: now
            )
        }

        mutating func fail(_ rendition: Rendition, hasEncoded: Bool = true) throws -> String {
            try engine.noteFailure(of: rendition.id, failure, hasEncoded: hasEncoded, at: now)
        }
    }

    // MARK: - Encodes

    @Test func encodesBeginAndEndByDemand() {
        var scene = Scene()
        #expect(scene.turn() == [])
        scene.wanted = [Self.vp8, Self.other]
        #expect(scene.turn() == [.begin(Self.vp8), .begin(Self.other)])
        #expect(scene.turn() == [])
        scene.wanted = [Self.other]
        #expect(scene.turn() == [.end(Self.vp8.id)])
        #expect(scene.turn() == [])
    }

    /// A frame of the one before could come after the keyframe of the next one.
    @Test func anEncodeBeginsWhenTheOneBeforeHasEnded() {
        var scene = Scene()
        scene.wanted = [Self.vp8]
        #expect(scene.turn() == [.begin(Self.vp8)])
        scene.wanted = []
        #expect(scene.turn() == [.end(Self.vp8.id)])
        scene.wanted = [Self.vp8, Self.other]
        #expect(scene.turn() == [.begin(Self.other)])
        scene.now += .seconds(100)
        #expect(scene.turn() == [])
        scene.engine.noteEnd(of: Self.vp8.id)
        #expect(scene.turn() == [.begin(Self.vp8)])
    }

    @Test func oneThatFailsRestsLongerEachTime() throws {
        var scene = Scene()
        scene.wanted = [Self.vp8, Self.other]
        #expect(scene.turn().count == 2)
        for rest in [1, 2, 4, 8, 16, 32, 32] {
            let sentence = "the encoder of VP8 failed (encode: no memory (1)): it is started again in \(rest) s"
            #expect(try scene.fail(Self.vp8) == sentence)
            #expect(scene.turn() == [])
            let end = scene.now + .seconds(rest)
            _ = scene.engine.noteLook(.live(.active), at: end)
            _ = scene.turnWithReports()
            #expect(scene.engine.nextDeadline <= end, "it is begun again in time")
            scene.now = end - .nanoseconds(1)
            #expect(scene.turn() == [])
            scene.now = end
            #expect(scene.turn() == [.begin(Self.vp8)])
        }
    }

    @Test func aRestIsSleptToItsEndWhereNothingElseIsDue() throws {
        var scene = Scene()
        scene.wanted = [Self.vp8]
        _ = scene.turn()
        scene.now += .milliseconds(10)
        _ = try scene.fail(Self.vp8)
        scene.now += .milliseconds(500)
        _ = scene.engine.noteLook(.live(.active), at: scene.now)
        #expect(scene.engine.nextDeadline == scene.now + .milliseconds(500))
    }

    /// Only what could never be encoded ends the sender.
    @Test func whatCanNeverBeEncodedEndsTheSender() throws {
        var scene = Scene()
        scene.wanted = [Self.vp8, Self.other]
        _ = scene.turn()
        #expect(throws: Never.self) { try scene.fail(Self.vp8, hasEncoded: false) }
        #expect(throws: VideoEncoderError.self) { try scene.fail(Self.other, hasEncoded: false) }
        scene = Scene()
        scene.wanted = [Self.vp8]
        _ = scene.turn()
        #expect(throws: Never.self) { try scene.fail(Self.vp8) }
    }

    @Test func oneThatCannotBeBegunRestsToo() {
        var scene = Scene()
        scene.wanted = [Self.vp8]
        _ = scene.turn()
        #expect(scene.engine.noteNoBeginning(of: Self.vp8.id, Self.damage, at: scene.now).hasPrefix("VP8 cannot be"))
        #expect(scene.turn() == [])
        scene.now += .seconds(1)
        #expect(scene.turn() == [.begin(Self.vp8)])
    }

    @Test func aPreferenceIsToldOnce() {
        var scene = Scene()
        scene.preferredCodecs = [.av1]
        #expect(scene.turn() == [.prefer(Self.av1)])
        #expect(scene.turn() == [])
        scene.preferredCodecs = [.vp9]
        #expect(scene.turn() == [], "there is no such rendition")
        scene.preferredCodecs = [.vp8]
        #expect(scene.turn() == [.prefer(Self.vp8)])
    }

    /// What suits a thin link does not suit those that others have.
    @Test func eachRungHasAPreferenceOfItsOwn() {
        let lower = Rendition(
            id: Rendition.ID(3),
            codec: .av1,
            rung: 1,
            width: 64,
            height: 64,
            framesPerSecond: 60,
            bitrate: 1_000_000
        )
        var engine = SenderEngine([Self.vp8, Self.av1, lower], isWatched: true, at: .seconds(100))
        func turn(_ codecs: [VideoCodec]) -> [SenderEngine.Action] {
            engine.turn(wanted: [], readings: [], preferredCodecs: codecs, at: .seconds(100))
        }
        #expect(turn([.vp8, .vp8]) == [])
        #expect(turn([.vp8, .av1]) == [.prefer(lower)])
        #expect(turn([.av1, .av1]) == [.prefer(Self.av1)])
        #expect(turn([.av1, .av1]) == [])
    }

    // MARK: - The broadcast

    /// Also where encodes come and go meanwhile.
    @Test func aProblemIsToldOnceForAsLongAsItLasts() {
        var scene = Scene()
        let told = [SenderEngine.Action.tell("\(Self.damage)")]
        scene.readings = [.notYet]
        #expect(scene.turn() == [])
        scene.readings = [.fails(Self.damage)]
        #expect(scene.turn() == told)
        for readings in [[], [.notYet], [.notYet, .fails(Self.damage)], [.fails(Self.damage), .works]]
            as [[Encode.Reading]]
        {
            scene.readings = readings
            #expect(scene.turn() == [])
        }
        scene.readings = [.fails(.noBroadcast(path: "folder"))]
        #expect(scene.turn() == [.tell("\(BridgeError.noBroadcast(path: "folder"))")])
        scene.readings = [.works]
        #expect(scene.turn() == [])
        scene.readings = [.fails(Self.damage)]
        #expect(scene.turn() == told, "it is back")
    }

    @Test(arguments: [(true, 1000), (false, 350)])
    func theBroadcastIsLookedAfterAtTimesAndAfterARing(isWatched: Bool, milliseconds: Int) {
        var scene = Scene(isWatched: isWatched)
        #expect(scene.engine.mustLook(at: scene.now, isRung: false))
        // Also if it could not be seen.
        for found in [nil, Liveness.live(.active)] {
            _ = scene.engine.noteLook(found, at: scene.now)
            let next = scene.now + .milliseconds(milliseconds)
            #expect(scene.engine.nextDeadline == next)
            #expect(!scene.engine.mustLook(at: next - .nanoseconds(1), isRung: false))
            #expect(scene.engine.mustLook(at: next - .nanoseconds(1), isRung: true))
            #expect(scene.engine.mustLook(at: next, isRung: false))
            scene.now = next
        }
    }

    @Test func whatBecomesOfTheBroadcastIsToldWhenItChanges() {
        var scene = Scene()
        func look(_ found: Liveness?) -> [SenderEngine.Action] { scene.engine.noteLook(found, at: scene.now) }
        #expect(look(.live(.starting)) == [.note(.starting)])
        #expect(look(.live(.active)) == [.note(.active)])
        #expect(look(.live(.active)) == [])
        #expect(look(nil) == [])
        let goesOn = [SenderEngine.Action.note(.active), .tell("the broadcast goes on")]
        for (found, condition) in [
            (.live(.paused), .paused), (.live(.sourceLost), .sourceLost), (.live(.error), .error), (.dead, .dead),
            (.stalled(.active), .stalled),
        ] as [(Liveness, BroadcastCondition)] {
            let actions = look(found)
            #expect(actions.count == 2 && actions[0] == .note(condition))
            #expect(look(found) == [])
            #expect(look(.live(.active)) == goesOn)
        }
        #expect(look(.live(.retired)) == [], "between two generations it is active")
        #expect(look(.stopped) == [.note(.stopped), .finish])
    }

    /// Some looks find the capture process between its goodbye and its end.
    @Test func aGoodbyeIsToldOnce() {
        var scene = Scene()
        func look(_ found: Liveness) -> [SenderEngine.Action] { scene.engine.noteLook(found, at: scene.now) }
        #expect(look(.live(.active)) == [.note(.active)])
        #expect(look(.live(.stopped)) == [.note(.stopped)])
        #expect(look(.stopped) == [.finish])
    }

    // MARK: - Statistics

    @Test func statisticsComeOnceASecond() {
        var scene = Scene()
        let start = scene.now
        scene.wanted = [Self.vp8]
        var reports: [Instant] = []
        while scene.now < start + .seconds(5) {
            if scene.turnWithReports().contains(.reportStatistics) { reports.append(scene.now) }
            scene.now += .milliseconds(40)
        }
        #expect(reports == [1000, 2000, 3000, 4000].map { start + .milliseconds($0) })
        // After a standstill once, and not for all the time that was missed.
        scene.now = start + .milliseconds(12_700)
        #expect(scene.turnWithReports() == [.reportStatistics])
        #expect(scene.turnWithReports() == [])
        scene.now += .milliseconds(999)
        #expect(scene.turnWithReports() == [])
        scene.now += .milliseconds(1)
        #expect(scene.turnWithReports() == [.reportStatistics])
    }

    @Test func nobodyIsWokenForTheStatisticsOfNothing() {
        var scene = Scene()
        scene.now += .milliseconds(500)
        _ = scene.engine.noteLook(.live(.active), at: scene.now)
        #expect(scene.engine.nextDeadline == scene.now + .seconds(1))
        scene.wanted = [Self.vp8]
        _ = scene.turnWithReports()
        #expect(scene.engine.nextDeadline == scene.now + .milliseconds(500))
    }

    /// Whichever rendition it was in, and in whatever order they are added.
    @Test func theLastFrameOfAllIsTheOneThatIsTold() {
        func work(_ quantizer: Int, at instant: Instant) -> SenderStatistics {
            var statistics = SenderStatistics()
            let frame = EncodingResult(isKeyframe: false, quantizer: quantizer)
            statistics.note(frame, byteCount: 1, at: instant)
            return statistics
        }
        for works in [
            [work(7, at: .seconds(1)), work(9, at: .seconds(2))], [work(9, at: .seconds(2)), work(7, at: .seconds(1))],
        ] {
            var sum = SenderStatistics()
            sum.add(SenderStatistics())
            for work in works { sum.add(work) }
            #expect(sum.quantizer == 9 && sum.framesEncoded == 2)
        }
    }
}
