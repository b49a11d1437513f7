import Glibc
import Posix
import Synchronization
import TestSupport
import Testing
import Time

@testable import FrameBridge

/// What is asked of a capture process, what it answers, and what its successor knows.
@Suite struct RequestTests {
    let folder = ScratchFolder()

    /// Asks on a thread of its own, and lets a writer work until there is an answer.
    private func answer(
        to request: BridgeRequest,
        of writer: inout FrameWriter,
        in directory: BridgeDirectory,
        _ work: (inout FrameWriter, BridgeRequest) -> Void
    ) throws -> BridgeAnswer? {
        let asking = try Asking(request, directory, until: MonotonicClock.now() + patience)
        while !asking.isOver {
            if let request = writer.takeRequest() { work(&writer, request) }
            sched_yield()
        }
        return asking.answer
    }

    @Test func whatIsAskedIsAnsweredUnderItsNumber() throws {
        let directory = try folder.bridge()
        var writer = try FrameWriter(directory: directory, source: "", framesPerSecond: 30)
        let long = "monitor " + String(repeating: "ü", count: 1500)
        for request in [BridgeRequest.resume, .stop, .show("screen"), .show(long)] {
            var seen: BridgeRequest?
            let granted = try answer(to: request, of: &writer, in: directory) {
                seen = $1
                $0.answer(.granted)
            }
            #expect(granted == .granted)
            #expect(seen == request)
            let reason = "no: " + long
            let refused = try answer(to: request, of: &writer, in: directory) { writer, _ in
                writer.answer(.refused(reason))
            }
            #expect(refused == .refused(reason))
        }
        let left = writer.takeRequest()
        #expect(left == nil)
    }

    @Test func whatIsTooLongIsRefusedAtOnce() throws {
        let directory = try folder.bridge()
        let writer = try FrameWriter(directory: directory, source: "", framesPerSecond: 30)
        let long = BridgeRequest.show(String(repeating: "x", count: 5000))
        #expect(throws: BridgeError.self) { try directory.ask(long, until: MonotonicClock.now() + patience) }
        try writer.stop()
    }

    /// Of those who ask at once, all get an answer. A pause stays where somebody asks for it meanwhile.
    @Test func nobodyIsForgotten() throws {
        let directory = try folder.bridge()
        var writer = try FrameWriter(directory: directory, source: "", framesPerSecond: 30)
        let asking = try (0..<8).map { index in
            try Asking(index.isMultiple(of: 2) ? .resume : .pause, directory, until: MonotonicClock.now() + patience)
        }
        while !asking.allSatisfy(\.isOver) {
            if let request = writer.takeRequest() {
                try writer.setState(request == .pause ? .paused : .active)
                writer.answer(.granted)
            }
            sched_yield()
        }
        for (index, asking) in asking.enumerated() {
            let mayBeRefused = index.isMultiple(of: 2)
            #expect(asking.answer == .granted || mayBeRefused && asking.answer != nil)
        }
    }

    /// An older wish to go on does not undo a newer pause, whenever the writer gets to run.
    @Test(arguments: [BridgeRequest.pause, .freeze], [BridgeRequest.resume, .stop, .show("screen")])
    func aPauseTakesThePlaceOfWhatWaits(pause: BridgeRequest, request: BridgeRequest) throws {
        let directory = try folder.bridge()
        var writer = try FrameWriter(directory: directory, source: "", framesPerSecond: 30)
        func isWaiting(_ request: BridgeRequest) throws -> Bool {
            try ControlFile(in: directory, O_RDONLY)?.waitingRequest == request
        }
        let older = try Asking(request, directory, until: MonotonicClock.now() + patience)
        while try !isWaiting(request) { sched_yield() }
        let newer = try Asking(pause, directory, until: MonotonicClock.now() + patience)
        while !older.isOver { sched_yield() }
        #expect(older.answer == .refused("somebody has asked for a pause meanwhile"))
        while try !isWaiting(pause) { sched_yield() }
        let taken = writer.takeRequest()
        #expect(taken == pause)
        writer.answer(.granted)
        while !newer.isOver { sched_yield() }
        #expect(newer.answer == .granted)
        let left = writer.takeRequest()
        #expect(left == nil)
    }

    /// A pause that nobody waits for any more is taken before another source is.
    @Test(arguments: [BridgeRequest.pause, .freeze])
    func anotherSourceComesAfterAPause(pause: BridgeRequest) throws {
        let directory = try folder.bridge()
        var writer = try FrameWriter(directory: directory, source: "", framesPerSecond: 30)
        #expect(try directory.ask(pause, until: MonotonicClock.now()) == nil)
        #expect(try directory.ask(.show("screen"), until: MonotonicClock.now()) == nil)
        let asking = try Asking(.show("screen"), directory, until: MonotonicClock.now() + patience)
        let first = writer.takeRequest()
        #expect(first == pause)
        writer.answer(.granted)
        while !asking.isOver {
            if let request = writer.takeRequest() {
                #expect(request == .show("screen"))
                writer.answer(.granted)
            }
            sched_yield()
        }
        #expect(asking.answer == .granted)
    }

    /// What a person waits for no longer is not done later, either.
    @Test func whatIsGivenUpIsTakenBackUnlessItIsAPause() throws {
        let directory = try folder.bridge()
        var writer = try FrameWriter(directory: directory, source: "", framesPerSecond: 30)
        for request in [BridgeRequest.resume, .stop, .show("screen"), .pause] {
            var looks = 0
            let answer = try directory.ask(request, until: Instant(nanoseconds: .max)) {
                looks += 1
                return looks == 3
            }
            #expect(answer == nil)
            let taken = writer.takeRequest()
            #expect(taken == (request == .pause ? .pause : nil))
        }
    }

    /// What a person was told not to be done is not done later.
    @Test func whatHadNoAnswerIsTakenBackUnlessItIsAPause() throws {
        let directory = try folder.bridge()
        var writer = try FrameWriter(directory: directory, source: "", framesPerSecond: 30)
        for request in [BridgeRequest.resume, .stop, .show("screen")] {
            #expect(try directory.ask(request, until: MonotonicClock.now()) == nil)
            let taken = writer.takeRequest()
            #expect(taken == nil)
        }
        #expect(try directory.ask(.freeze, until: MonotonicClock.now()) == nil)
        let taken = writer.takeRequest()
        #expect(taken == .freeze)
    }

    /// Those who read a killed writer's frames see none of them once its successor is paused, with frames or without.
    /// Invariant: paused.
    @Test(arguments: [FrameReader.Access.mapped, .copied], [true, false])
    func aPauseReachesTheFramesOfADeadWriter(access: FrameReader.Access, wasAskedBefore: Bool) throws {
        let directory = try folder.bridge()
        do {
            var writer = try FrameWriter(directory: directory, source: "", framesPerSecond: 30)
            try writer.publish(info(64, 64)) { fill(&$0, 1) }
        }
        var reader = try FrameReader(directory: directory, access: access)
        guard case .frame = try reader.read({ _ in }) else { throw Unexpected("no frame") }
        if wasAskedBefore { #expect(try directory.ask(.pause, until: MonotonicClock.now()) == nil) }
        let asked: Instant = MonotonicClock.now()
        var successor = try takeOver(directory)
        if !wasAskedBefore {
            // There is no room for the slate, as it has no size.
            var nothing = info(0, 0)
            nothing.capturedAt = asked
            #expect(throws: BridgeError.self) {
                try successor.publish(nothing, leavingNothingElse: true) { fill(&$0, 2) }
            }
        }
        #expect(try #require(reader.horizon.instant) >= asked)
        reader.forget()
        #expect(try reader.read { _ in } == .noFrame)
    }

    /// A horizon never goes back, also where the writer that set it was killed.
    /// Invariant: notBefore.
    @Test func aSuccessorKeepsTheHorizon() throws {
        let directory = try folder.bridge()
        var slate = info(64, 64)
        slate.capturedAt = MonotonicClock.now()
        do {
            var writer = try FrameWriter(directory: directory, source: "", framesPerSecond: 30)
            try writer.publish(slate, leavingNothingElse: true) { fill(&$0, 1) }
        }
        var successor = try takeOver(directory)
        var later = info(64, 64)
        later.capturedAt = slate.capturedAt + .nanoseconds(1)
        try successor.publish(later) { fill(&$0, 2) }
        #expect(try BridgeInspection(directory).horizon == slate.capturedAt)
    }

    /// The clock begins anew with the machine, and a folder on a disk outlives that.
    /// Invariant: notBefore.
    @Test func aHorizonOfAnotherClockIsForgotten() throws {
        let directory = try folder.bridge()
        do {
            var writer = try FrameWriter(directory: directory, source: "", framesPerSecond: 30)
            try writer.publish(info(64, 64)) { fill(&$0, 1) }
        }
        let frames = try #require(folder.files().first { $0.hasPrefix("frames.") })
        let header = try FileDescriptor.open(directory.path(of: frames), O_WRONLY)
        let tomorrow: Instant = MonotonicClock.now() + .seconds(86_400)
        for offset in [Layout.Header.heartbeat, Layout.Header.horizon] {
            try header.write(withUnsafeBytes(of: tomorrow.nanoseconds) { Array($0) }, at: offset)
        }
        var successor = try takeOver(directory)
        try successor.publish(info(64, 64)) { fill(&$0, 2) }
        #expect(try BridgeInspection(directory).horizon == nil)
    }

    @Test func whatIsShownIsKnownInItsWholeLength() throws {
        let directory = try folder.bridge()
        #expect(try directory.shownSource() == nil)
        let name = String(repeating: "long ", count: 100)
        var writer = try FrameWriter(directory: directory, source: name, sourceWords: name, framesPerSecond: 30)
        #expect(try directory.shownSource() == name)
        try writer.setSource("other", words: name + "other")
        #expect(try directory.shownSource() == name + "other")
        #expect(throws: BridgeError.self) { try writer.setSource("", words: String(repeating: "x", count: 4081)) }
        #expect(try directory.shownSource() == name + "other")
        try writer.stop()
        #expect(folder.files().sorted() == ["reader.lock", "status", "writer.lock"])
    }

    @Test(arguments: ["removed", "emptied", "replaced"])
    func aControlFileThatIsGoneIsMadeAgain(how: String) throws {
        let directory = try folder.bridge()
        var writer = try FrameWriter(directory: directory, source: "", sourceWords: "screen", framesPerSecond: 30)
        try writer.setState(.paused)
        let path = directory.path(of: "control")
        switch how {
        case "removed": unlink(path)
        case "emptied": truncate(path, 0)
        default:
            unlink(path)
            folder.write("control", [1, 2, 3])
        }
        _ = writer.heartbeat()
        _ = writer.heartbeat(at: MonotonicClock.now() + .milliseconds(510))
        #expect(try directory.shownSource() == "screen")
        #expect(RecoveredState(in: directory).isPaused)
        let granted = try answer(to: .pause, of: &writer, in: directory) { writer, _ in writer.answer(.granted) }
        #expect(granted == .granted)
    }

    /// It was asked for after the successor had read what the process before had left.
    @Test(arguments: [
        (BridgeRequest.pause, true), (.freeze, true), (.resume, false), (.stop, false), (.show("x"), false),
    ])
    func aPauseThatComesDuringATakeoverWaits(request: BridgeRequest, waits: Bool) throws {
        let directory = try folder.bridge()
        do {
            var writer = try FrameWriter(directory: directory, source: "", sourceWords: "screen", framesPerSecond: 30)
            try writer.publish(info(64, 64)) { fill(&$0, 1) }
        }
        let recovered = RecoveredState(in: directory)
        #expect(!recovered.isPaused)
        let asked = ControlFile.Record(number: 7, text: request.text)
        try #require(try ControlFile(in: directory, O_WRONLY)).write(asked, to: .request)
        let control = try recovered.makeControl(in: directory, source: "screen")
        #expect(control.waitingRequest == (waits ? request : nil))
        #expect((control.answer(to: asked) == nil) == waits)
    }

    /// Nobody shall see what may have been hidden.
    @Test(arguments: ["control", "status", "both"])
    func whatCannotBeKnownWasPaused(damaged: String) throws {
        let directory = try folder.bridge()
        do {
            var writer = try FrameWriter(directory: directory, source: "", sourceWords: "screen", framesPerSecond: 30)
            try writer.publish(info(64, 64)) { fill(&$0, 1) }
        }
        #expect(!RecoveredState(in: directory).isPaused)
        if damaged != "status" { folder.write("control", [UInt8](repeating: 7, count: 16384)) }
        if damaged != "control" { folder.write("status", Array("rubbish".utf8)) }
        #expect(RecoveredState(in: directory).isPaused == (damaged != "status"))
        let successor = try takeOver(directory)
        #expect(successor.state == (damaged == "status" ? .starting : .paused))
        try successor.stop()
        let next = try takeOver(directory)
        #expect(next.state == .starting)
    }

    /// By the command line, and by a shell script.
    @Test(arguments: ["control", "request"])
    func aPauseThatWasAskedOfADeadWriterIsTheSuccessors(way: String) throws {
        let directory = try folder.bridge()
        do {
            var writer = try FrameWriter(directory: directory, source: "", framesPerSecond: 30)
            try writer.publish(info(64, 64)) { fill(&$0, 1) }
        }
        if way == "control" {
            #expect(try directory.ask(.pause, until: MonotonicClock.now()) == nil)
        } else {
            folder.write("request", Array("freeze\n".utf8))
        }
        var successor = try takeOver(directory)
        #expect(successor.state == .paused)
        let waiting = successor.takeRequest()
        #expect(waiting == (way == "control" ? .pause : nil))
    }

    /// Anything else was asked of the one before.
    @Test func aStopThatWasAskedOfADeadWriterIsRefused() throws {
        let directory = try folder.bridge()
        do { _ = try FrameWriter(directory: directory, source: "", framesPerSecond: 30) }
        #expect(try directory.ask(.stop, until: MonotonicClock.now()) == nil)
        var successor = try takeOver(directory)
        #expect(successor.state == .starting)
        let waiting = successor.takeRequest()
        #expect(waiting == nil)
    }

    @Test func aStatusThatIsGoneIsWrittenAgain() throws {
        let directory = try folder.bridge()
        var writer = try FrameWriter(directory: directory, source: "", framesPerSecond: 30)
        try writer.publish(info(64, 64)) { fill(&$0, 1) }
        let before = try #require(try directory.status())
        for (round, kind) in ["removed", "damaged"].enumerated() {
            if kind == "removed" { unlink(directory.path(of: "status")) } else { folder.write("status", [0, 255, 10]) }
            _ = writer.heartbeat(at: MonotonicClock.now() + .milliseconds(510) * (round + 1))
            #expect(try directory.status() == before)
        }
    }

    /// A reader shows nothing from before, and a new one neither.
    @Test(arguments: [FrameReader.Access.mapped, .copied])
    func whatWasCapturedBeforeTheHorizonIsNotShown(access: FrameReader.Access) throws {
        let directory = try folder.bridge()
        var writer = try FrameWriter(directory: directory, source: "", framesPerSecond: 30)
        func picture(at instant: Instant) -> FrameInfo {
            var info = info(64, 64)
            info.capturedAt = instant
            return info
        }
        try writer.publish(picture(at: MonotonicClock.now())) { fill(&$0, 1) }
        var reader = try FrameReader(directory: directory, access: access)
        guard case .frame = try reader.read({ _ in }) else { throw Unexpected("no frame") }
        #expect(reader.horizon.instant == nil)
        let pausedAt: Instant = MonotonicClock.now()
        try writer.publish(picture(at: pausedAt), leavingNothingElse: true) { fill(&$0, 2) }
        #expect(reader.horizon.instant == pausedAt)
        guard case .frame(let slate) = try reader.read({ _ in }) else { throw Unexpected("no slate") }
        #expect(slate.capturedAt == pausedAt)
        // One that is older after all.
        try writer.publish(picture(at: pausedAt - .nanoseconds(1))) { fill(&$0, 3) }
        #expect(try reader.read { _ in } == .noFrame)
        var late = try FrameReader(directory: directory, access: access)
        #expect(try late.read { _ in } == .noFrame)
        // The horizon goes with the writer to other generations, and does not go back.
        var large = info(640, 480)
        large.capturedAt = pausedAt + .nanoseconds(5)
        try writer.publish(large) { fill(&$0, 4) }
        guard case .frame = try reader.read({ _ in }) else { throw Unexpected("no frame") }
        #expect(reader.horizon.instant == pausedAt)
        #expect(try BridgeInspection(directory).horizon == pausedAt)
    }
}

/// Somebody who asks, on a thread of its own.
private final class Asking {
    private final class Outcome: Sendable {
        let state = Mutex<(isOver: Bool, answer: BridgeAnswer?)>((false, nil))
    }

    private let outcome = Outcome()
    private let thread: Thread

    init(_ request: BridgeRequest, _ directory: BridgeDirectory, until deadline: Instant) throws {
        thread = try Thread { [outcome] in
            let answer = (try? directory.ask(request, until: deadline)) ?? nil
            outcome.state.withLock { $0 = (true, answer) }
        }
    }

    var isOver: Bool { outcome.state.withLock { $0.isOver } }
    var answer: BridgeAnswer? { outcome.state.withLock { $0.answer } }
}
