package import Control
import Glibc
import Motion
package import Posix
import Time

/// A recorder in its sandbox: it has a folder for its files, a sender's feed, and the process that connects it.
package struct Recorder: ~Copyable {
    package enum End: Equatable { case interrupted, broadcastEnded }

    /// How much may be lost with the power.
    private static let syncTime = Duration.seconds(1)
    /// Each wake-up costs more than reading a message does. So while a file simply goes on, messages wait for this time, unless there are many bytes.
    private static let restTime = Duration.milliseconds(200)
    private static let mostResting = 64 << 10
    /// A sender lets fewer wait.
    private static let mostQuestions = 16
    /// Before another attempt to connect, or to write.
    private static let progressTime = Duration.seconds(1)
    private static let connectRest = Duration.milliseconds(100)
    private static let writeRest = Duration.seconds(2)
    /// For the process that connects, to start the last program.
    private static let farewellTime = Duration.seconds(1)
    /// Between two looks at the recordings that are to go.
    private static let tidyTime = Duration.seconds(60)

    let folder: RecordingFolder
    /// The name of the first file, without the ending; nil for names by the date.
    private let base: String?
    let broadcast: String
    private let connector: DescriptorChannel
    private let tell: (News) -> Void
    var engine: RecordingEngine
    private var part: PartFile?
    var feed: FeedConnection?
    private var isAsking = false
    private let suspends = try? SuspendWatch()
    /// Not before this instant.
    private var askAt = Instant.start
    private var writeAt: Instant?
    private var syncAt: Instant?
    var isBlockedTold = false
    let requests: RecorderRequests
    let kept: KeptStates
    /// Those that are answered when the open file is whole.
    var waiting: [RecorderRequests.Waiting] = []
    /// The names of the file that is being written, and of the last whole one.
    var current: String?
    var lastFile: String?
    var files = 0
    /// Of the settings.
    var version = 1
    /// Of what viewers ask for.
    var replays = RateLimit(interval: .seconds(10), slack: .zero, from: .start)
    var changes = RateLimit(interval: .seconds(1), slack: .zero, from: .start)
    let takesViewers: Bool
    /// The clips of this recorder, and the whole files of the last one.
    var clips = 0
    private var clipFiles: [String] = []
    var problem: SystemError?
    private let retention: Retention
    private var tidyAt = Instant.start
    private var clock = ClockWatch()
    /// When messages that have come are read at the latest, while a file simply goes on.
    private var feedAt = Instant.start
    /// When a person is told again how far the file is; nil for nobody who looks.
    private var progressAt: Instant?

    /// - Parameters:
    ///   - broadcast: its name, for those of files.
    ///   - base: the name of the first file, without the ending; nil for names by the date.
    ///   - connector: to the process of `FeedConnector`.
    ///   - isOff: whether a person has switched the recordings of the broadcast off.
    ///   - takesViewers: whether viewers may command it, by a sender.
    ///   - showsProgress: whether `tell` gets the progress each second.
    ///   - tell: gets news for a person.
    package init(
        into folder: RecordingFolder,
        _ settings: RecordingEngine.Settings,
        keeping retention: Retention,
        broadcast: String,
        base: String?,
        keeping kept: KeptStates,
        isOff: Bool,
        takesViewers: Bool,
        requests: RecorderRequests,
        connector: consuming DescriptorChannel,
        showsProgress: Bool,
        tell: @escaping (News) -> Void
    ) {
        (self.folder, self.broadcast, self.base, self.tell) = (folder, broadcast, base, tell)
        self.connector = connector
        (self.retention, self.requests, self.takesViewers) = (retention, requests, takesViewers)
        progressAt = showsProgress ? .start : nil
        engine = RecordingEngine(settings, epoch: Self.epoch)
        self.kept = kept
        if isOff { engine.hold(.off, at: MonotonicClock.now()) }
        switch kept {
        case .none: break
        case .begin: try? folder.keep(KeptState(), of: broadcast)
        case .goOn: restore(folder.kept(of: broadcast))
        }
    }

    /// Records until a signal comes, or the broadcast has ended.
    package mutating func run(until signals: borrowing TerminationSignals) -> End {
        let end = turn(until: signals)
        receive()
        engine.end(at: MonotonicClock.now())
        perform()
        answerWaiting()
        requests.close()
        connector.finish(until: MonotonicClock.now() + Self.farewellTime)
        return end
    }

    private mutating func turn(until signals: borrowing TerminationSignals) -> End {
        while !signals.take() {
            let now: Instant = MonotonicClock.now()
            engine.epoch = Self.epoch
            if feed == nil, !isAsking, now >= askAt {
                guard (try? connector.ask()) != nil else { return .broadcastEnded }
                isAsking = true
            }
            let isResting = engine.isSteady && now < feedAt
            let deadline = earliest(
                earliest(engine.deadline, syncAt, writeAt),
                feed == nil ? isAsking ? nil : askAt : isResting ? feedAt : nil,
                earliest(retention == Retention() ? nil : tidyAt, engine.isWriting ? progressAt : nil)
            )
            let descriptors: InlineArray<5, Int32> = [
                signals.descriptor.raw, requests.descriptor, isAsking ? connector.raw : -1,
                isResting ? -1 : feed?.raw ?? -1,
                suspends?.descriptor.raw ?? -1,
            ]
            waitReadable(descriptors.span, until: deadline)
            if suspends?.takeSuspend() != nil { engine.slept(at: MonotonicClock.now()) }
            // What was shown before a command belongs before it.
            receive()
            takeRequests()
            if isAsking, !connect() { return .broadcastEnded }
            let after: Instant = MonotonicClock.now()
            if let writeAt, after >= writeAt {
                self.writeAt = nil
                engine.fileMayBegin(at: after)
            }
            engine.turn(at: after)
            perform()
            synchronize(at: after)
            tidy(at: after)
            tellProgress(at: after)
        }
        return .interrupted
    }

    /// Returns false once nobody connects any more.
    private mutating func connect() -> Bool {
        guard waitReadable(connector.raw, until: MonotonicClock.now()) else { return true }
        isAsking = false
        do {
            feed = try FeedConnection(try connector.take())
        } catch {
            if [ECONNRESET, EBADMSG].contains((error as? SystemError)?.code) { return false }
            askAt = MonotonicClock.now() + Self.connectRest
        }
        return true
    }

    private mutating func receive() {
        guard var feed = self.feed.take() else { return }
        let now: Instant = MonotonicClock.now()
        var questions: [(request: RecorderRequest, number: UInt64, deadline: Instant)] = []
        do {
            let count = try feed.receive { message in
                if case .question(let request, let number, let deadline) = message {
                    questions.append((request, number, deadline))
                } else {
                    engine.take(message, at: now)
                }
            }
            if count > 0, count < Self.mostResting { feedAt = now + Self.restTime }
            // A sender that was taken over must not keep the recorder from anything else.
            guard questions.count <= Self.mostQuestions else { throw RecorderRefusal.tooOften }
            self.feed = consume feed
            for question in questions where now <= question.deadline {
                let answer = answer(question.request, question.number, at: now)
                try self.feed?.send(answer)
            }
        } catch {
            self.feed = nil
            engine.feedEnded()
            askAt = now + Self.connectRest
        }
    }

    private mutating func tellProgress(at now: Instant) {
        guard let progressAt, now >= progressAt, let current else { return }
        self.progressAt = now + Self.progressTime
        tell(.progress(current, length: engine.length, bytes: engine.bytes))
    }

    // MARK: - Files

    mutating func perform() {
        var hasFailed = false
        for action in engine.takeActions() {
            // What follows would belong to a file that is not there, but for what is told.
            if hasFailed, case .tell = action {} else if hasFailed { continue }
            do throws(SystemError) { try perform(action) } catch {
                hasFailed = true
                fail(error)
            }
        }
    }

    private mutating func perform(_ action: RecordingEngine.Action) throws(SystemError) {
        switch action {
        case .open(let date, let cause):
            let occasion = cause.flatMap { FileName.Occasion(rawValue: $0.rawValue) }
            let file = try folder.create(base ?? FileName.base(broadcast, date: date, of: occasion))
            current = file.name
            tell(.began(file.name))
            part = consume file
        case .append(let head, let content):
            try part?.append(head, content)
            if part != nil, syncAt == nil { syncAt = MonotonicClock.now() + Self.syncTime }
        case .patch(let patch): try part?.apply(patch)
        case .close(let end):
            (syncAt, current) = (nil, nil)
            guard let file = part.take() else { return }
            complete(try file.end(end))
            isBlockedTold = false
        case .requestKeyframe: feed?.request(.keyframe)
        case .requestPause: feed?.request(.pause)
        case .tell(.dropped(let count)): tell(.dropped(count))
        case .tell(.unreadable): tell(.unreadable)
        case .tell(.clipBegan(let cause)):
            (clips, clipFiles) = (clips + 1, [])
            tell(.clipBegan(clips, cause, file: current))
        case .tell(.clipEnded(let reason)):
            tell(.clipEnded(clips, reason, files: clipFiles))
            connector.note(clipFiles.joined(separator: "/"))
        }
    }

    private mutating func synchronize(at now: Instant) {
        guard let due = syncAt, now >= due else { return }
        syncAt = nil
        do throws(SystemError) { try part?.synchronize() } catch { fail(error) }
    }

    /// Removes what is not to be kept, and keeps room for others.
    private mutating func tidy(at now: Instant) {
        guard retention != Retention(), now >= tidyAt else { return }
        tidyAt = now + Self.tidyTime
        do throws(SystemError) {
            let oldest = clock.look(
                wall: .nanoseconds(Int64(clamping: MonotonicClock.wallClock())),
                running: now - .start + MonotonicClock.suspendedTime()
            )
            let removed = try folder.remove(
                by: retention,
                of: broadcast,
                writing: part?.length ?? 0,
                now: Self.epoch + Double(now.nanoseconds) / 1e9,
                oldest: oldest
            )
            for name in removed { tell(.removed(name)) }
            if try folder.directory.freeSpace() < retention.reserve { throw SystemError("write", code: ENOSPC) }
        } catch {
            fail(error)
        }
    }

    /// What was written becomes a whole file, and another one begins when there is room.
    private mutating func fail(_ error: SystemError) {
        if !isBlockedTold { tell(.blocked(error, folder: folder.path)) }
        isBlockedTold = true
        (problem, syncAt, current) = (error, nil, nil)
        engine.fileFailed()
        let next = MonotonicClock.now() + Self.writeRest
        // Before anything is written again, there must be the room that is to stay free.
        (writeAt, tidyAt) = (next, min(tidyAt, next))
        if let file = part.take(), let name = try? file.salvage() { complete(name) }
        answerWaiting()
    }

    private mutating func complete(_ name: String) {
        tidyAt = .start
        clipFiles.append(name)
        tellWhole(name)
        answerWaiting()
    }

    mutating func tellChange() { tell(.changedByViewer) }

    mutating func tellWhole(_ name: String) {
        (lastFile, files) = (name, files + 1)
        tell(.completed(name))
    }

    /// The date of `Instant.start`, in seconds since 1970.
    private static var epoch: Double {
        let now: Instant = MonotonicClock.now()
        return (Double(MonotonicClock.wallClock()) - Double(now.nanoseconds)) / 1e9
    }
}
