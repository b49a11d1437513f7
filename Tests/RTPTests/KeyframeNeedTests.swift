import TestSupport
import Testing
import Time

@testable import RTP

@Suite struct KeyframeNeedTests {
    private var need = KeyframeNeed()

    /// One whose viewer got a keyframe by second 1, and shows it since.
    init() {
        need.beginKeyframe()
        need.endFrame(at: .seconds(0.5), roundTripTime: nil)
    }

    private mutating func isAsked(at now: Instant) -> Bool { need.takeRequest(at: now) }

    @Test mutating func aNewViewerNeedsOneAtOnce() {
        var fresh = KeyframeNeed()
        #expect(fresh.deadline == nil, "at once is nothing to wait for")
        let isAsked = fresh.takeRequest(at: .start)
        #expect(isAsked)
    }

    @Test mutating func whatIsAskedTwiceIsAnsweredOnce() {
        need.notePictureLoss(at: .seconds(1))
        need.notePictureLoss(at: .seconds(1))
        #expect(isAsked(at: .seconds(1)))
        #expect(!isAsked(at: .seconds(100)))
    }

    @Test mutating func whoAsksSoonAgainIsHeardWhenItsTimeComes() {
        need.notePictureLoss(at: .seconds(10))
        #expect(isAsked(at: .seconds(10)))
        #expect(need.deadline == nil)
        need.notePictureLoss(at: .seconds(10))
        #expect(need.deadline == .seconds(11))
        #expect(!isAsked(at: .seconds(11) - .nanoseconds(1)))
        #expect(isAsked(at: .seconds(11)))
    }

    @Test mutating func aKeyframeOnItsWayAnswersWhatIsAskedMeanwhile() {
        need.beginKeyframe()
        need.notePictureLoss(at: .seconds(2))
        need.endFrame(at: .seconds(3), roundTripTime: .seconds(1))
        need.notePictureLoss(at: .seconds(4) - .nanoseconds(1))
        #expect(!isAsked(at: .seconds(100)))
        need.notePictureLoss(at: .seconds(4))
        #expect(isAsked(at: .seconds(100)))
    }

    @Test mutating func theEndOfAnotherFrameIsNotThatOfAKeyframe() {
        need.endFrame(at: .seconds(2), roundTripTime: .seconds(1))
        need.notePictureLoss(at: .seconds(2))
        #expect(isAsked(at: .seconds(2)))
    }

    /// As a full intra request does, which peers number.
    @Test mutating func aNeedThatArisesIsNotTakenForARepetition() {
        need.beginKeyframe()
        need.arise()
        #expect(isAsked(at: .seconds(2)))
    }

    @Test mutating func aKeyframeThatIsGoneAnswersNothing() {
        need.beginKeyframe()
        need.ariseAnew()
        #expect(isAsked(at: .seconds(2)))
        need.notePictureLoss(at: .seconds(20))
        #expect(isAsked(at: .seconds(20)))
    }

    /// Each of those whom a media server serves asks for the first time.
    @Test func manyViewersAreServedFourTimesAtOnceAndThenOnceASecond() {
        var need = KeyframeNeed(isForMany: true)
        var asked: [Instant] = []
        for step in 0...100 {
            let now: Instant = .seconds(20) + .milliseconds(step * 100)
            need.notePictureLoss(at: now)
            while need.takeRequest(at: now) {
                asked.append(now)
                need.notePictureLoss(at: now)
            }
        }
        #expect(asked == Array(repeating: .seconds(20), count: 4) + (21...30).map { .seconds(Double($0)) })
        need.notePictureLoss(at: .seconds(32))
        let isAsked = need.takeRequest(at: .seconds(32))
        #expect(isAsked, "who has waited is served at once")
    }

    @Test func whoComesTooLateForAKeyframeOfManyGetsAnother() {
        var need = KeyframeNeed(isForMany: true)
        need.beginKeyframe()
        need.notePictureLoss(at: .seconds(1))
        let isAskedWhileSending = need.takeRequest(at: .seconds(1))
        #expect(!isAskedWhileSending)
        need.endFrame(at: .seconds(2), roundTripTime: .seconds(1))
        need.notePictureLoss(at: .seconds(2))
        let isAsked = need.takeRequest(at: .seconds(2))
        #expect(isAsked)
    }

    /// What is left out on a link that carries too little must not fill it with keyframes.
    @Test func aLinkThatIsTooThinIsServedLessOftenForManyToo() {
        var one = KeyframeNeed()
        var many = KeyframeNeed(isForMany: true)
        func asked(_ need: inout KeyframeNeed) -> [Int] {
            need.beginKeyframe()
            return (0...300).filter { step in
                need.ariseAnew()
                return need.takeRequest(at: .seconds(20) + .milliseconds(step * 100))
            }
        }
        let forOne = asked(&one)
        #expect(forOne == [0, 10, 30, 70, 150, 230])
        #expect(asked(&many) == forOne)
    }
}
