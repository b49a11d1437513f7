import Control
import Glibc
import Media
import Posix
import Time

extension Recorder {
    mutating func takeRequests() {
        let now: Instant = MonotonicClock.now()
        for waiting in requests.takeWaiting() {
            do {
                if try perform(waiting.request, at: now) {
                    perform()
                    waiting.answer(.status(report: snapshot))
                } else {
                    self.waiting.append(waiting)
                }
            } catch {
                waiting.answer(.refused(reason: Self.refusal(error).reason))
            }
        }
    }

    /// Answers a viewer's command, which came by the sender. That may have been taken over, so it is asked only where viewers may command.
    mutating func answer(_ request: RecorderRequest, _ number: UInt64, at now: Instant) -> FeedAnswer {
        do {
            guard takesViewers, request.isForViewers else { throw RecorderRefusal.forbidden }
            switch request {
            case .replay where now < replays.earliest, .change where now < changes.earliest:
                throw RecorderRefusal.tooOften
            // Without the version that was read, two people undo each other's change.
            case .change(_, version: nil): throw RecorderRefusal.changed
            default: break
            }
            _ = try perform(request, at: now)
            switch request {
            case .replay: replays.note(at: now)
            case .change:
                changes.note(at: now)
                tellChange()
            default: break
            }
            perform()
            return FeedAnswer(to: number, by: snapshot)
        } catch {
            // Where viewers may not command, a sender learns no more than that.
            let shown = takesViewers ? snapshot : RecorderSnapshot(pid: getpid(), state: .waiting, folder: "")
            return FeedAnswer(to: number, Self.refusal(error).cause, by: shown)
        }
    }

    private static func refusal(_ error: any Error) -> (reason: String, cause: RecorderRefusal) {
        switch error {
        case let refusal as RecorderRefusal: (refusal.reason, refusal)
        case let problem as FieldProblem: ("\(problem)", .field)
        case let error as SystemError: ("it cannot be written (\(error.reason))", .unwritable)
        default: ("it cannot be written (\(error))", .unwritable)
        }
    }

    /// Returns whether the request is done; one that is not is answered when the open file is whole.
    private mutating func perform(_ request: RecorderRequest, at now: Instant) throws -> Bool {
        switch request {
        case .status: break
        case .pause:
            hold(.paused, at: now)
            try keepState()
        case .resume:
            release(.paused, at: now)
            try keepState()
        case .off: hold(.off, at: now)
        case .on: release(.off, at: now)
        case .mute, .unmute:
            engine.isMuted = request == .mute
            try keepState()
        case .cut:
            engine.cut(at: now)
            return !engine.isWriting
        case .change(let clips, let version):
            if let version, version != self.version { throw RecorderRefusal.changed }
            if let problem = clips?.problem { throw problem }
            try engine.requireIdle()
            try keepState(KeptState.Change(clips: clips, version: self.version + 1))
            try engine.change(clips, at: now)
            self.version += 1
        case .trigger: try engine.trigger(at: now)
        case .replay(let seconds):
            guard seconds.map({ 1...3600 ~= $0 }) ?? true else { throw RecorderRefusal.field }
            tellWhole(try save(engine.replay(seconds.map { .seconds($0) }, at: now)))
        }
        return true
    }

    private mutating func hold(_ reason: RecordingEngine.Hold, at now: Instant) {
        engine.hold(reason, at: now)
        feed?.request(.pause)
    }

    private mutating func release(_ reason: RecordingEngine.Hold, at now: Instant) {
        engine.release(reason, at: now)
        if engine.isOn { feed?.request(.resume) }
    }

    /// - Parameter change: one that is about to be made; nil for none.
    private func keepState(_ change: KeptState.Change? = nil) throws(SystemError) {
        if kept == .none { return }
        var state = KeptState(isPaused: engine.holds.contains(.paused), isMuted: engine.isMuted)
        let last = version > 1 ? KeptState.Change(clips: engine.settings.clips, version: version) : nil
        state.change = change ?? last
        try folder.keep(state, of: broadcast)
    }

    mutating func restore(_ state: KeptState) {
        if state.isPaused { engine.hold(.paused, at: MonotonicClock.now()) }
        engine.isMuted = state.isMuted
        guard let change = state.change, change.clips?.problem == nil else { return }
        // No clip is written yet.
        try? engine.change(change.clips, at: MonotonicClock.now())
        version = change.version
    }

    /// Writes a file in one go. Returns its name.
    private func save(_ replay: RecordingEngine.Replay) throws(SystemError) -> String {
        var file = try folder.create(FileName.base(broadcast, date: replay.date, of: .replay))
        do throws(SystemError) {
            for write in replay.writes {
                switch write {
                case .append(let head, let content): try file.append(head, content)
                case .patch(let patch): try file.apply(patch)
                }
            }
        } catch {
            // A part of it is better than nothing.
            _ = try file.salvage()
            throw error
        }
        return try file.end(replay.end)
    }

    mutating func answerWaiting() {
        for waiting in waiting { waiting.answer(.status(report: snapshot)) }
        waiting = []
    }

    private var snapshot: RecorderSnapshot {
        let state = engine.state(at: MonotonicClock.now())
        var snapshot = RecorderSnapshot(pid: getpid(), state: state, folder: folder.path)
        (snapshot.file, snapshot.bytes) = (current, engine.bytes)
        snapshot.lengthS = (engine.length / .milliseconds(1)).rounded() / 1000
        (snapshot.muted, snapshot.version) = (engine.isMuted, version)
        snapshot.clips = engine.settings.clips
        snapshot.replayS = engine.settings.replay.map { Int($0 / .seconds(1)) }
        (snapshot.lastFile, snapshot.files) = (lastFile, files)
        snapshot.problem = state == .blocked ? problem?.reason : nil
        return snapshot
    }
}
