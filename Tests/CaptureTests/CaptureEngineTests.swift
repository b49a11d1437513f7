import FrameBridge
import TestSupport
import Testing
import Time
import X11Capture

@testable import Capture

/// Each state of the capture process, and what becomes of events in it. Whole lists of actions are compared: their order is
/// what readers and successors rely on.
@Suite struct CaptureEngineTests {
    typealias Action = CaptureEngine.Action

    private static let active = Action.setState(.active, reason: "")
    private static let paused = Action.setState(.paused, reason: "")
    private static let full = "\(VirtualCapture.full)"

    /// One that shows its source, which rests.
    private func showing() -> VirtualCapture {
        var capture = VirtualCapture()
        capture.turn()
        _ = capture.take()
        return capture
    }

    // MARK: - Start

    @Test func theFirstLookIsPublishedAtOnce() {
        var capture = VirtualCapture()
        #expect(capture.take() == [])
        capture.turn()
        #expect(capture.take() == [.publish(replacingAll: false), Self.active])
        #expect(capture.looks == [capture.now])
    }

    @Test func slowGrabbingIsToldOf() {
        var capture = VirtualCapture(warning: "slow")
        #expect(capture.take() == [.tell(.problem("slow"))])
    }

    /// A broadcast that cannot begin ends with the reason. One that continues waits: readers have the picture of before.
    @Test(arguments: [false, true])
    func aFirstPictureThatCannotBeWrittenEndsOnlyANewBroadcast(goesOn: Bool) {
        var capture = VirtualCapture(goesOn: goesOn)
        capture.isDiskFull = true
        capture.turn()
        #expect(capture.engine.end == (goesOn ? nil : .failed(VirtualCapture.full)))
        if !goesOn { return }
        #expect(
            capture.take() == [
                .publish(replacingAll: false), .tell(.notWritten(Self.full)), .setState(.error, reason: Self.full),
            ]
        )
    }

    @Test func aSuccessorOfAPausedProcessShowsTheSlateFirst() {
        var capture = VirtualCapture(isPaused: true, goesOn: true)
        #expect(capture.take() == [.tell(.stillPaused), .cover(.slate, isAsked: false), Self.paused])
        capture.run(.seconds(20))
        #expect(capture.take() == [])
        #expect(capture.looks.isEmpty)
        #expect(
            capture.ask(.resume) == [.tell(.resumed), .forgetPublished, Self.active, .answer(.granted)] + [
                .publish(replacingAll: false)
            ]
        )
    }

    @Test(arguments: [false, true])
    func aSuccessorWithoutASourceSaysSo(isForGood: Bool) {
        var capture = VirtualCapture(goesOn: true, failing: "no server", isForGood: isForGood)
        let lost: [Action] = [.tell(.sourceLost("no server")), .setState(.sourceLost, reason: "no server")]
        #expect(capture.take() == lost + (isForGood ? [.tell(.sourceGone)] : []))
        capture.isServerThere = true
        capture.run(.seconds(1))
        #expect(capture.take().contains(.connect) == !isForGood)
        #expect(capture.looks.isEmpty == isForGood)
    }

    @Test func aPausedSuccessorWithoutASourceStaysPaused() {
        var capture = VirtualCapture(isPaused: true, goesOn: true, failing: "no server")
        #expect(
            capture.take() == [
                .tell(.sourceLost("no server")), .tell(.stillPaused), .cover(.slate, isAsked: false), Self.paused,
            ]
        )
        #expect(
            capture.ask(.resume) == [
                .tell(.resumed), .forgetPublished, .setState(.sourceLost, reason: ""), .answer(.granted),
            ]
        )
    }

    // MARK: - Showing

    @Test func whatIsDrawnIsPublishedAtTheFrameRate() {
        var capture = showing()
        capture.changes = true
        let first = capture.looks.count
        for _ in 0..<1000 {
            capture.news = .damaged
            capture.run(.milliseconds(2))
        }
        let looks = capture.looks.count - first
        #expect(49...52 ~= looks, "\(looks) in 2 s at 25 a second")
        let published = capture.take().count { $0 == .publish(replacingAll: false) }
        #expect(published == looks)
    }

    /// However fast the screen changes, signals and requests come in between: one look a turn.
    @Test func aTurnHasOneLook() {
        var capture = showing()
        capture.changes = true
        capture.sight.isDamaged = true
        capture.lookTime = .milliseconds(70)
        capture.news = .damaged
        let before = (capture.looks.count, capture.turns)
        for _ in 0..<100 { capture.stall(.milliseconds(100)) }
        #expect(capture.looks.count - before.0 == 100 && capture.turns - before.1 == 100)
    }

    @Test func whatNothingToldOfThriceIsTold() {
        var capture = showing()
        capture.sight.isMissed = true
        capture.run(.seconds(10))
        #expect(capture.take().count { $0 == .tell(.missedDamage) } == 1)
        var rare = showing()
        for _ in 0..<5 {
            rare.sight.isMissed = true
            rare.run(.milliseconds(500))
            rare.sight.isMissed = false
            rare.run(.seconds(6))
        }
        #expect(!rare.take().contains(.tell(.missedDamage)))
    }

    @Test func aFramesFileThatIsGoneIsMadeAnew() {
        var capture = showing()
        capture.hasFile = false
        #expect(capture.ask() == [.tell(.fileLost), .forgetPublished])
        capture.changes = true
        capture.run(.milliseconds(50))
        #expect(capture.take() == [.publish(replacingAll: false)])
    }

    // MARK: - Rest

    /// A heartbeat each 550 ms, and nothing else.
    @Test func nobodyWatchesAndNothingIsLookedAt() {
        var capture = showing()
        capture.isWatched = false
        capture.run(.seconds(6))
        let (looks, turns) = (capture.looks.count, capture.turns)
        for _ in 0..<60 {
            capture.news = .damaged
            capture.run(.seconds(1))
        }
        #expect(capture.looks.count == looks)
        #expect(109...110 ~= capture.turns - turns)
        #expect(!capture.engine.rest(at: capture.now).hearsServer)
        // Who comes then sees the screen as it is.
        capture.isWatched = true
        capture.turn(isCalled: true)
        #expect(capture.looks.count == looks + 1)
    }

    /// Sweeps, each with its heartbeat.
    @Test func aStillScreenCostsTwoTurnsASecond() {
        var capture = showing()
        let turns = capture.turns
        capture.run(.seconds(60))
        #expect(119...122 ~= capture.turns - turns)
        #expect(capture.engine.rest(at: capture.now).hearsServer)
    }

    /// The frame rate holds, and what else is drawn meanwhile changes nothing.
    @Test func whileDamageWaitsTheServerIsNotHeard() {
        var capture = showing()
        capture.news = .damaged
        capture.turn()
        let rest = capture.engine.rest(at: capture.now)
        #expect(!rest.hearsServer)
        #expect(rest.until == capture.now + VirtualCapture.interval / 2)
    }

    /// The end of a reader is told of an instant before its lock is free.
    @Test func aCallIsLookedAfterTwice() {
        var capture = VirtualCapture(goesOn: true, failing: "away")
        capture.turn(isCalled: true)
        capture.run(.milliseconds(9))
        capture.isServerThere = true
        #expect(capture.engine.rest(at: capture.now).until == capture.now + .milliseconds(1))
        capture.requests = [.stop]
        capture.run(.milliseconds(1))
        #expect(capture.engine.end == .clean)
    }

    @Test func statisticsComeOnceASecondAlsoAfterAStall() {
        var capture = showing()
        capture.run(.seconds(60))
        #expect(59...61 ~= capture.reports)
        let before = capture.reports
        capture.stall(.seconds(5.3))
        for _ in 0..<9 { capture.stall(.milliseconds(50)) }
        #expect(capture.reports == before + 1)
        capture.run(.seconds(10))
        #expect(9...12 ~= capture.reports - before)
    }

    // MARK: - Pause

    /// Invariant: paused.
    @Test(arguments: [(BridgeRequest.pause, Action.Cover.slate), (.freeze, .lastPicture)])
    func aPauseIsAnsweredWhenTheCoverStandsAndASuccessorWouldKnow(request: BridgeRequest, cover: Action.Cover) {
        var capture = showing()
        capture.changes = true
        #expect(
            capture.ask(request) == [
                .cover(cover, isAsked: true), Self.paused, .tell(.paused), .answer(.granted),
            ]
        )
        let looks = capture.looks.count
        for _ in 0..<100 {
            capture.news = .damaged
            capture.run(.milliseconds(100))
        }
        #expect(capture.looks.count == looks)
        #expect(capture.take() == [])
    }

    @Test func aPauseThatIsNotKeptHasNoAnswerAndIsTriedWithEachTick() {
        var capture = showing()
        capture.refusesCovers = true
        #expect(
            capture.ask(.pause) == [
                .cover(.slate, isAsked: true), .tell(.problem("full")), Self.paused, .tell(.paused),
            ]
        )
        // The request stays, and the reason was told.
        #expect(
            capture.ask(.pause) == [
                .cover(.slate, isAsked: false), Self.paused, .cover(.slate, isAsked: true), Self.paused,
            ]
        )
        #expect(capture.looks.count == 1, "it is paused all the same")
        capture.refusesCovers = false
        #expect(
            capture.ask(.pause) == [
                .cover(.slate, isAsked: false), Self.paused, .cover(.slate, isAsked: true), Self.paused,
                .answer(.granted),
            ]
        )
        #expect(capture.ask() == [], "the cover stands")
    }

    /// The horizon hides what the process before has left; there is nothing else to hide.
    @Test func aPauseWithoutAPictureOfItsOwnIsKeptByTheHorizon() {
        var capture = VirtualCapture(goesOn: true, failing: "away")
        capture.refusesCovers = true
        _ = capture.take()
        #expect(
            capture.ask(.pause)
                == [
                    .cover(.slate, isAsked: true), .tell(.problem("full")), Self.paused, .tell(.paused),
                    .answer(.granted),
                ]
        )
    }

    @Test func aCoverThatIsRemovedIsPutUpAgain() {
        var capture = showing()
        _ = capture.ask(.freeze)
        capture.hasFile = false
        #expect(capture.ask() == [.tell(.fileLost), .cover(.slate, isAsked: false), Self.paused])
    }

    @Test func aPauseOfAPausedBroadcastChangesItsCover() {
        var capture = showing()
        _ = capture.ask(.freeze)
        #expect(capture.ask(.pause) == [.cover(.slate, isAsked: true), Self.paused, .answer(.granted)])
    }

    @Test func afterAPauseThePictureIsDrawnAnew() {
        var capture = showing()
        _ = capture.ask(.pause)
        capture.run(.seconds(1))
        capture.changes = true
        #expect(
            capture.ask(.resume) == [
                .tell(.resumed), .forgetPublished, Self.active, .answer(.granted), .publish(replacingAll: false),
            ]
        )
    }

    @Test func aResumeOfWhatIsNotPausedIsGranted() {
        var capture = showing()
        #expect(capture.ask(.resume) == [.answer(.granted)])
    }

    // MARK: - A lost source

    @Test func aHiddenSourceIsLookedForAtTheSweepsAndPublishedWhenItIsBack() {
        var capture = showing()
        capture.isSourceThere = false
        capture.run(.seconds(5))
        #expect(
            capture.take() == [
                .tell(.sourceLost("hidden")), .setState(.sourceLost, reason: "hidden"),
            ]
        )
        capture.isSourceThere = true
        capture.run(.milliseconds(600))
        // Though not a pixel of it is new.
        #expect(
            capture.take() == [
                .publish(replacingAll: false), .tell(.sourceBack), Self.active,
            ]
        )
    }

    @Test func aServerThatIsAwayIsSoughtEverMoreRarely() {
        var capture = showing()
        capture.isServerThere = false
        capture.turn()
        #expect(capture.take() == [.tell(.sourceLost("away")), .setState(.sourceLost, reason: "away")])
        var attempts: [Instant] = []
        let lost = capture.now
        while capture.now < lost + .seconds(3) {
            capture.run(.milliseconds(1))
            if capture.take().contains(.connect) { attempts.append(capture.now) }
        }
        let waits = zip([lost] + attempts, attempts).map { Int(($1 - $0).milliseconds.rounded()) }
        #expect(waits.prefix(7) == [50, 100, 200, 400, 500, 500, 500])
        capture.isServerThere = true
        capture.warning = "slow"
        capture.changes = true
        capture.run(.milliseconds(500))
        #expect(
            capture.take().prefix(5) == [
                .connect, .tell(.problem("slow")), .publish(replacingAll: false), .tell(.sourceBack), Self.active,
            ]
        )
    }

    @Test func aWindowThatWasDestroyedIsNotSought() {
        var capture = showing()
        (capture.isServerThere, capture.isWindowGone) = (false, true)
        capture.run(.seconds(1))
        #expect(capture.take().suffix(3).contains(.tell(.sourceGone)))
        let turns = capture.turns
        capture.run(.seconds(55))
        #expect(99...101 ~= capture.turns - turns, "heartbeats alone")
        #expect(!capture.take().contains(.connect))
        // A person may choose another.
        capture.isServerThere = true
        #expect(
            capture.ask(.show("screen")) == [
                .adopt("screen", publishing: true), .tell(.sourceChanged), Self.active, .answer(.granted),
            ]
        )
        capture.changes = true
        capture.run(.seconds(1))
        #expect(capture.take().contains(.publish(replacingAll: false)))
    }

    @Test func aServerThatGoesDuringAPauseIsSoughtAndThePauseStays() {
        var capture = showing()
        _ = capture.ask(.pause)
        capture.isServerThere = false
        capture.run(.seconds(1))
        var actions = capture.take().filter { $0 != .connect }
        #expect(actions == [.tell(.sourceLost("away"))])
        #expect(
            capture.ask(.resume).filter { $0 != .connect } == [
                .tell(.resumed), .forgetPublished, .setState(.sourceLost, reason: ""), .answer(.granted),
            ]
        )
        #expect(capture.ask(.pause).filter { $0 != .connect }.last == .answer(.granted))
        capture.isServerThere = true
        capture.run(.seconds(1))
        actions = capture.take()
        #expect(actions == [.connect], "back, and behind the slate")
        #expect(capture.looks.count == 1)
    }

    @Test func aPauseWhileTheSourceIsLostIsKept() {
        var capture = showing()
        capture.isSourceThere = false
        capture.run(.seconds(1))
        _ = capture.take()
        #expect(
            capture.ask(.pause) == [
                .cover(.slate, isAsked: true), Self.paused, .tell(.paused), .answer(.granted),
            ]
        )
        let actions = capture.ask(.resume)
        #expect(actions.last == .setState(.sourceLost, reason: "hidden"), "it is still not there")
    }

    // MARK: - Pictures that cannot be written

    @Test func whatCannotBeWrittenIsTriedOnceASecond() {
        var capture = showing()
        capture.changes = true
        capture.isDiskFull = true
        for _ in 0..<1000 {
            capture.news = .damaged
            capture.run(.milliseconds(10))
        }
        let actions = capture.take()
        #expect(actions.count { $0 == .tell(.notWritten(Self.full)) } == 1)
        #expect(10...11 ~= actions.count { $0 == .publish(replacingAll: false) })
        capture.isDiskFull = false
        capture.run(.seconds(1))
        #expect(
            capture.take().prefix(3) == [
                .publish(replacingAll: false), .tell(.writable), Self.active,
            ]
        )
    }

    @Test func aStopWhileWritingFailsEndsCleanly() {
        var capture = showing()
        (capture.changes, capture.isDiskFull) = (true, true)
        capture.run(.seconds(1))
        #expect(capture.ask(.stop) == [.answer(.granted)])
        #expect(capture.engine.end == .clean)
    }

    @Test func aPauseWhileWritingFailsIsKeptAndNothingIsWrittenAfterIt() {
        var capture = showing()
        (capture.changes, capture.isDiskFull) = (true, true)
        capture.run(.seconds(1))
        _ = capture.take()
        #expect(
            capture.ask(.pause) == [
                .cover(.slate, isAsked: true), Self.paused, .tell(.paused), .answer(.granted),
            ]
        )
        capture.run(.seconds(5))
        #expect(capture.take() == [])
    }

    @Test func aSourceThatIsLostWhileWritingFailsIsToldOf() {
        var capture = showing()
        (capture.changes, capture.isDiskFull) = (true, true)
        capture.run(.seconds(1))
        _ = capture.take()
        capture.isServerThere = false
        capture.turn()
        #expect(capture.take() == [.tell(.sourceLost("away")), .setState(.sourceLost, reason: "away")])
    }

    // MARK: - Another source

    /// The answer comes when the picture before can no longer be seen, also while nobody watches.
    /// Invariant: paused.
    @Test(arguments: [true, false])
    func aChangeOfSourceIsAnsweredWhenItsPictureStandsInAllSlots(isWatched: Bool) {
        var capture = showing()
        capture.isWatched = isWatched
        capture.warning = "slow"
        capture.run(.seconds(10))
        _ = capture.take()
        #expect(
            capture.ask(.show("screen")) == [
                .adopt("screen", publishing: true), .tell(.sourceChanged), .tell(.problem("slow")),
                .answer(.granted),
            ]
        )
    }

    @Test func aSourceThatIsNotThereLeavesAllAsItWas() {
        var capture = showing()
        capture.opensSource = false
        #expect(
            capture.ask(.show("screen")) == [
                .adopt("screen", publishing: true), .tell(.sourceRefused("not there")), .answer(.refused("not there")),
            ]
        )
    }

    /// Its horizon may stand by then, so the source before is published again.
    @Test func aSourceThatCannotBeWrittenIsRefusedAndTheOneBeforeGoesOn() {
        var capture = showing()
        capture.isDiskFull = true
        #expect(
            capture.ask(.show("screen")) == [
                .adopt("screen", publishing: true), .forgetPublished,
                .tell(.sourceRefused("full")),
                .answer(.refused("full")),
            ]
        )
        (capture.isDiskFull, capture.changes) = (false, true)
        capture.run(.milliseconds(50))
        #expect(capture.take().contains(.publish(replacingAll: false)))
    }

    @Test func anotherSourceEndsALossAndAFailureToWrite() {
        var lost = showing()
        lost.isSourceThere = false
        lost.run(.seconds(1))
        lost.isSourceThere = true
        #expect(
            lost.ask(.show("screen")).prefix(4) == [
                .adopt("screen", publishing: true), .tell(.sourceChanged), Self.active, .answer(.granted),
            ]
        )
        var failing = showing()
        (failing.changes, failing.isDiskFull) = (true, true)
        failing.run(.seconds(1))
        failing.isDiskFull = false
        #expect(
            failing.ask(.show("screen")).prefix(5) == [
                .adopt("screen", publishing: true), .tell(.sourceChanged), .tell(.writable),
                Self.active,
                .answer(.granted),
            ]
        )
    }

    /// The cover stays as a person wanted it. With the end of the pause the source before is hidden before a successor would
    /// show the new one, and its picture goes from all slots with the next one.
    @Test(arguments: [BridgeRequest.pause, .freeze])
    func aChangeOfSourceDuringAPauseStaysBehindItsCover(request: BridgeRequest) {
        var capture = showing()
        _ = capture.ask(request)
        #expect(
            capture.ask(.show("screen")) == [
                .adopt("screen", publishing: false), .tell(.sourceChanged), .answer(.granted),
            ]
        )
        capture.isDiskFull = true
        capture.changes = true
        #expect(
            capture.ask(.resume) == [
                .tell(.resumed), .hidePast, .forgetPublished, Self.active, .answer(.granted),
                .publish(replacingAll: true), .tell(.notWritten(Self.full)), .setState(.error, reason: Self.full),
            ]
        )
        capture.isDiskFull = false
        capture.run(.seconds(2))
        let published = capture.take().filter { if case .publish = $0 { true } else { false } }
        #expect(published.first == .publish(replacingAll: true))
        #expect(published.dropFirst().allSatisfy { $0 == .publish(replacingAll: false) } && published.count > 1)
    }

    @Test func aSecondChangeAfterThePauseNeedsNoReplacement() {
        var capture = showing()
        _ = capture.ask(.freeze)
        _ = capture.ask(.show("screen"))
        capture.isSourceThere = false
        _ = capture.ask(.resume)
        capture.isSourceThere = true
        capture.changes = true
        #expect(capture.ask(.show("region 2x2+0+0")).contains(.adopt("region 2x2+0+0", publishing: true)))
        capture.run(.seconds(1))
        #expect(capture.take().contains(.publish(replacingAll: false)))
    }

    // MARK: - End

    @Test func twoRequestsAreDoneInTheirOrder() {
        var capture = showing()
        let first = capture.ask(.pause, .resume)
        #expect(first.last == .answer(.granted) && first.contains(Self.paused))
        let second = capture.ask()
        #expect(second.prefix(4) == [.tell(.resumed), .forgetPublished, Self.active, .answer(.granted)])
    }

    @Test func aSignalEndsWithoutAnotherDeed() {
        var engine = CaptureEngine(
            .failed(reason: "away", isForGood: false),
            isPaused: true,
            goesOn: true,
            at: .seconds(1)
        )
        engine.handle(.signalled, at: .seconds(1))
        #expect(engine.end == .clean)
        #expect(engine.nextAction() == nil)
    }

    @Test func nothingHappensAfterTheAnswerToAStop() {
        var capture = showing()
        capture.changes = true
        capture.requests = [.stop, .resume]
        capture.run(.seconds(10))
        #expect(capture.take() == [.answer(.granted)])
    }
}
