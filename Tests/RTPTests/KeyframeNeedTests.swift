import Testing

@testable import RTP

@Suite struct KeyframeNeedTests {
    private static let second: UInt64 = 1_000_000_000
    private var need = KeyframeNeed()

    /// One whose viewer got a keyframe by second 1, and shows it since.
    init() {
        need.beginKeyframe()
        need.endFrame(at: Self.second / 2, roundTripTime: nil)
    }

    private mutating func isAsked(at now: UInt64) -> Bool { need.take(at: now) }

    @Test mutating func aNewViewerNeedsOneAtOnce() {
        var fresh = KeyframeNeed()
        #expect(fresh.deadline == nil, "at once is nothing to wait for")
        let isAsked = fresh.take(at: 0)
        #expect(isAsked)
    }

    @Test mutating func whatIsAskedTwiceIsAnsweredOnce() {
        need.notePictureLoss(at: Self.second)
        need.notePictureLoss(at: Self.second)
        #expect(isAsked(at: Self.second))
        #expect(!isAsked(at: 100 * Self.second))
    }

    @Test mutating func whoAsksSoonAgainIsHeardWhenItsTimeComes() {
        need.notePictureLoss(at: 10 * Self.second)
        #expect(isAsked(at: 10 * Self.second))
        #expect(need.deadline == nil)
        need.notePictureLoss(at: 10 * Self.second)
        #expect(need.deadline == 11 * Self.second)
        #expect(!isAsked(at: 11 * Self.second - 1))
        #expect(isAsked(at: 11 * Self.second))
    }

    @Test mutating func aKeyframeOnItsWayAnswersWhatIsAskedMeanwhile() {
        need.beginKeyframe()
        need.notePictureLoss(at: 2 * Self.second)
        need.endFrame(at: 3 * Self.second, roundTripTime: Self.second)
        need.notePictureLoss(at: 4 * Self.second - 1)
        #expect(!isAsked(at: 100 * Self.second))
        need.notePictureLoss(at: 4 * Self.second)
        #expect(isAsked(at: 100 * Self.second))
    }

    @Test mutating func theEndOfAnotherFrameIsNotThatOfAKeyframe() {
        need.endFrame(at: 2 * Self.second, roundTripTime: Self.second)
        need.notePictureLoss(at: 2 * Self.second)
        #expect(isAsked(at: 2 * Self.second))
    }

    /// As a full intra request does, which peers number.
    @Test mutating func aNeedThatArisesIsNotTakenForARepetition() {
        need.beginKeyframe()
        need.arise()
        #expect(isAsked(at: 2 * Self.second))
    }

    @Test mutating func aKeyframeThatIsGoneAnswersNothing() {
        need.beginKeyframe()
        need.ariseAnew()
        #expect(isAsked(at: 2 * Self.second))
        need.notePictureLoss(at: 20 * Self.second)
        #expect(isAsked(at: 20 * Self.second))
    }
}
