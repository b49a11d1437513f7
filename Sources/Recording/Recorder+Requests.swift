import Control
import Glibc
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
            } catch let refusal as RecordingEngine.Refusal {
                waiting.answer(.refused(reason: refusal.rawValue))
            } catch {
                waiting.answer(
                    .refused(reason: "it cannot be written (\((error as? SystemError)?.reason ?? "\(error)"))")
                )
            }
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
        case .trigger: try engine.trigger(at: now)
        case .replay(let seconds):
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

    private func keepState() throws(SystemError) {
        if kept == .none { return }
        try folder.keep(KeptState(isPaused: engine.holds.contains(.paused), isMuted: engine.isMuted), of: broadcast)
    }

    mutating func restore(_ state: KeptState) {
        if state.isPaused { engine.hold(.paused, at: MonotonicClock.now()) }
        engine.isMuted = state.isMuted
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
        snapshot.muted = engine.isMuted
        (snapshot.lastFile, snapshot.files) = (lastFile, files)
        snapshot.problem = state == .blocked ? problem?.reason : nil
        return snapshot
    }
}
