package import Control
import Glibc
package import Posix
import Time

/// A recorder in its sandbox: it has a folder for its files, a sender's feed, and the process that connects it.
package struct Recorder: ~Copyable {
    package enum End: Equatable { case interrupted, broadcastEnded }

    /// What a person is told, as a sentence.
    package enum News: Equatable, CustomStringConvertible {
        case began(String)
        case completed(String)
        /// It was not to be kept longer.
        case removed(String)
        /// Nothing can be written, for this reason; it is tried again.
        case blocked(SystemError)
        case dropped(Int)
        case unreadable

        package var description: String {
            switch self {
            case .began(let name): "recording into \(name)"
            case .completed(let name): "\(name) is whole"
            case .removed(let name): "\(name) is removed, as the limits of --keep and --reserve say"
            case .blocked(let error): "nothing can be recorded (\(error.reason)): it goes on as soon as it can"
            case .dropped(let count): "\(count) pictures are missing, as the disk or this machine is too slow"
            case .unreadable: "the sender's pictures cannot be read: update Oriel"
            }
        }
    }

    /// How much may be lost with the power.
    private static let syncTime = Duration.seconds(1)
    /// Before another attempt to connect, or to write.
    private static let connectRest = Duration.milliseconds(100)
    private static let writeRest = Duration.seconds(2)
    /// Between two looks at the recordings that are to go.
    private static let tidyTime = Duration.seconds(60)

    private let folder: RecordingFolder
    /// The name of the first file, without the ending; nil for names by the date.
    private let base: String?
    private let broadcast: String
    private let connector: DescriptorChannel
    private let tell: (News) -> Void
    private var engine: RecordingEngine
    private var part: PartFile?
    private var feed: FeedConnection?
    private var isAsking = false
    /// Not before this instant.
    private var askAt = Instant.start
    private var writeAt: Instant?
    private var syncAt: Instant?
    private var isBlockedTold = false
    private let requests: RecorderRequests
    /// Those that are answered when the open file is whole.
    private var waiting: [RecorderRequests.Waiting] = []
    /// The names of the file that is being written, and of the last whole one.
    private var current: String?
    private var lastFile: String?
    private var files = 0
    private var problem: SystemError?
    private let retention: Retention
    private var tidyAt = Instant.start

    /// - Parameters:
    ///   - broadcast: its name, for those of files.
    ///   - base: the name of the first file, without the ending; nil for names by the date.
    ///   - connector: to the process of `FeedConnector`.
    ///   - tell: gets news for a person.
    package init(
        into folder: RecordingFolder,
        _ settings: RecordingEngine.Settings,
        keeping retention: Retention,
        broadcast: String,
        base: String?,
        requests: RecorderRequests,
        connector: consuming DescriptorChannel,
        tell: @escaping (News) -> Void
    ) {
        (self.folder, self.broadcast, self.base, self.tell) = (folder, broadcast, base, tell)
        self.connector = connector
        (self.retention, self.requests) = (retention, requests)
        engine = RecordingEngine(settings, epoch: Self.epoch)
    }

    /// Records until a signal comes, or the broadcast has ended.
    package mutating func run(until signals: borrowing TerminationSignals) -> End {
        let end = turn(until: signals)
        engine.end(at: MonotonicClock.now())
        perform()
        answerWaiting()
        requests.close()
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
            let deadline = earliest(
                earliest(engine.deadline, syncAt, writeAt),
                feed == nil && !isAsking ? askAt : nil,
                retention == Retention() ? nil : tidyAt
            )
            let descriptors: InlineArray<4, Int32> = [
                signals.descriptor.raw, requests.descriptor, isAsking ? connector.raw : -1, feed?.raw ?? -1,
            ]
            waitReadable(descriptors.span, until: deadline)
            takeRequests()
            if isAsking, !connect() { return .broadcastEnded }
            receive()
            let after: Instant = MonotonicClock.now()
            if let writeAt, after >= writeAt {
                self.writeAt = nil
                engine.fileMayBegin(at: after)
            }
            engine.turn(at: after)
            perform()
            synchronize(at: after)
            tidy(at: after)
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
            if (error as? SystemError)?.code == ECONNRESET { return false }
            askAt = MonotonicClock.now() + Self.connectRest
        }
        return true
    }

    private mutating func receive() {
        guard var feed = self.feed.take() else { return }
        let now: Instant = MonotonicClock.now()
        do {
            try feed.receive { engine.take($0, at: now) }
            self.feed = consume feed
        } catch {
            engine.feedEnded()
            askAt = now + Self.connectRest
        }
    }

    // MARK: - Requests

    private mutating func takeRequests() {
        let now: Instant = MonotonicClock.now()
        for waiting in requests.takeWaiting() {
            switch waiting.request {
            case .status: break
            case .pause: engine.pause(at: now)
            case .resume: engine.resume(at: now)
            case .cut where engine.isWriting:
                engine.cut(at: now)
                self.waiting.append(waiting)
                continue
            case .cut: break
            }
            perform()
            waiting.answer(.status(report: snapshot))
        }
    }

    private mutating func answerWaiting() {
        for waiting in waiting { waiting.answer(.status(report: snapshot)) }
        waiting = []
    }

    private var snapshot: RecorderSnapshot {
        var snapshot = RecorderSnapshot(pid: getpid(), state: engine.state, folder: folder.path)
        (snapshot.file, snapshot.bytes) = (current, engine.bytes)
        snapshot.lengthS = (engine.length / .milliseconds(1)).rounded() / 1000
        (snapshot.lastFile, snapshot.files) = (lastFile, files)
        snapshot.problem = engine.state == .blocked ? problem?.reason : nil
        return snapshot
    }

    // MARK: - Files

    private mutating func perform() {
        for action in engine.takeActions() {
            do throws(SystemError) { try perform(action) } catch {
                // What follows would belong to a file that is not there.
                return fail(error)
            }
        }
    }

    private mutating func perform(_ action: RecordingEngine.Action) throws(SystemError) {
        switch action {
        case .open(let date):
            let file = try folder.create(base ?? FileName.base(broadcast, date: date))
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
        case .requestKeyframe: feed?.requestKeyframe()
        case .tell(.dropped(let count)): tell(.dropped(count))
        case .tell(.unreadable): tell(.unreadable)
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
            let date = Self.epoch + Double(now.nanoseconds) / 1e9
            let removed = try folder.remove(by: retention, of: broadcast, writing: part?.length ?? 0, now: date)
            for name in removed { tell(.removed(name)) }
            if try folder.directory.freeSpace() < retention.reserve { throw SystemError("write", code: ENOSPC) }
        } catch {
            fail(error)
        }
    }

    /// What was written becomes a whole file, and another one begins when there is room.
    private mutating func fail(_ error: SystemError) {
        if !isBlockedTold { tell(.blocked(error)) }
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
        (lastFile, files) = (name, files + 1)
        tell(.completed(name))
        answerWaiting()
    }

    /// The date of `Instant.start`, in seconds since 1970.
    private static var epoch: Double {
        let now: Instant = MonotonicClock.now()
        return (Double(MonotonicClock.wallClock()) - Double(now.nanoseconds)) / 1e9
    }
}
