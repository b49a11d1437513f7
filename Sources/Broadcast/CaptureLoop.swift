package import FrameBridge
import Pixels
package import Posix
package import X11Capture

/// The capture process: looks at the screen, publishes what changed, and does what it is asked to, until it is told to
/// stop.
package struct CaptureLoop: ~Copyable {
    /// A screen that nobody watches is not looked at after this time.
    private static let unwatchedTime: UInt64 = 5_000_000_000
    /// Between two attempts to write what could not be written.
    private static let retryTime: UInt64 = 1_000_000_000
    /// A little longer than from sweep to sweep: a heartbeat goes with each of those, and needs no waking of its own. A
    /// reader takes a writer that is silent for two seconds for stalled.
    private static let heartbeatInterval: UInt64 = 550_000_000
    /// Three finds in a row are no accident.
    private static let missesToTell = 3

    private var settings: CaptureSettings
    private let directory: BridgeDirectory
    private let report: (String) -> Void
    private let interval: UInt64
    private var writer: FrameWriter
    /// Nil while the X server is away.
    private var session: XSession? {
        willSet { if let session { past = past + session.statistics } }
    }
    /// Of the sessions before.
    private var past = CaptureStatistics()
    /// Why there was no session to begin with.
    private let absence: X11Error?
    /// What was shown is gone for good.
    private var isOrphaned = false
    private var schedule: CaptureSchedule
    private var backoff: Backoff
    private var isPaused: Bool
    /// While it is paused: whether the picture that hides the screen is out, and was not just tried in vain.
    private var isHidden = true
    /// What was shown before shall not be seen by anybody who comes now.
    private var hidesPast = false
    /// When to try again to write what could not be written; 0 while all is well.
    private var writeAfter: UInt64 = 0
    private var heartbeatAt: UInt64
    /// After a call, which may have been the end of a reader, once more.
    private var callAgainAt = UInt64.max
    private var watchedAt: UInt64
    /// How often in a row a sweep found what no damage had told of, and when it did last.
    private var misses = 0
    private var missedAt: UInt64 = 0
    private var hasToldOfMisses = false

    /// Connects to the X server, finds the source, and takes the writer lock. One that goes on with the work of another needs
    /// no source to begin with.
    ///
    /// - Parameter report: gets a sentence when something happens that a person may want to know.
    /// - Throws: `X11Error` when there is nothing to show, `BridgeError` when there is no place to show it.
    package init(
        _ settings: CaptureSettings,
        in directory: BridgeDirectory,
        report: @escaping (String) -> Void
    ) throws {
        let (session, absence) = try Self.open(settings)
        var settings = settings
        if let session { settings.source = session.source }
        let writer = try FrameWriter(
            directory: directory,
            source: session.map { "\(settings.source) of \($0.display)" } ?? "\(settings.source)",
            sourceWords: settings.source.words,
            framesPerSecond: settings.framesPerSecond,
            storage: settings.storage
        )
        let now = MonotonicClock.now()
        self.settings = settings
        self.directory = directory
        self.report = report
        // A person paused it: that the process died in between changes nothing.
        isPaused = writer.state == .paused
        self.writer = writer
        self.session = session
        interval = 1_000_000_000 / UInt64(settings.framesPerSecond)
        schedule =
            session?.schedule(interval: interval)
            ?? CaptureSchedule(interval: interval, hasDamage: false, hasMotion: false)
        backoff = Backoff(now: now)
        heartbeatAt = now
        watchedAt = now
        if let warning = session?.warning { report(warning) }
        self.absence = absence
    }

    private static func open(_ settings: CaptureSettings) throws(X11Error) -> (XSession?, X11Error?) {
        do throws(X11Error) { return (try XSession(settings), nil) } catch {
            guard settings.goesOn else { throw error }
            return (nil, error)
        }
    }

    /// What is shown, in root-window pixels.
    package var region: CaptureRegion? { session?.region }

    /// Runs until a signal or a request to stop comes. Says `stopped` before it returns.
    ///
    /// - Parameter eachSecond: gets the statistics about once a second.
    package consuming func run(
        until signals: borrowing TerminationSignals,
        eachSecond: (CaptureStatistics) -> Void
    ) throws(BridgeError) {
        var reportAt = MonotonicClock.now() + 1_000_000_000
        do throws(BridgeError) {
            if let absence {
                enterSourceLost("\(absence)")
                noteEnd(absence)
            }
            if isPaused {
                report("still paused, as the process before was: go on with \"oriel resume\"")
                pause(withPlacard: true)
            }
            let watch = directory.watch()
            while !signals.take() {
                let now = MonotonicClock.now()
                let isCalled = watch.take()
                let isDue = now >= heartbeatAt || isLooking && schedule.isSweepDue(at: now)
                if isCalled || isDue || now >= callAgainAt {
                    callAgainAt = isCalled ? now + DirectoryWatch.unlockTime : .max
                    if isDue { heartbeatAt = now + Self.heartbeatInterval }
                    if try tick(at: now) { break }
                }
                if now >= reportAt {
                    eachSecond(statistics)
                    reportAt = max(reportAt + 1_000_000_000, now)
                }
                try look(at: now)
                // While something waits for its time, what the server may tell would only wake us in vain.
                let server = isLooking && !schedule.isWaiting ? session?.fileDescriptor : nil
                waitReadable(signals.descriptor.raw, watch.descriptor, server ?? -1, until: deadline)
            }
        } catch {
            try? writer.stop(reason: "\(error)")
            throw error
        }
        try writer.stop()
    }

    private var statistics: CaptureStatistics { session.map { past + $0.statistics } ?? past }

    private var isLooking: Bool { session != nil && !isPaused && MonotonicClock.now() < watchedAt + Self.unwatchedTime }

    private var deadline: UInt64 { min(callAgainAt, nextDeadline) }

    private var nextDeadline: UInt64 {
        if session == nil { return isOrphaned ? heartbeatAt : min(heartbeatAt, backoff.nextAttempt) }
        return isLooking ? min(heartbeatAt, max(schedule.deadline, writeAfter)) : heartbeatAt
    }

    /// Tells readers that it lives, and does what it is asked to. Returns whether to stop.
    private mutating func tick(at now: UInt64) throws(BridgeError) -> Bool {
        if !writer.heartbeat() {
            report("the frames file was removed or shrunk: making a new one")
            if isPaused { pause(withPlacard: true) } else { publishAgain() }
        }
        if writer.hasReaders {
            if !isLooking { schedule.noteDamage() }
            watchedAt = now
        }
        if isPaused, !isHidden { pause(withPlacard: true) }
        guard let request = writer.takeRequest() else { return false }
        switch request {
        case .stop: break
        case .pause, .freeze: guard pause(withPlacard: request == .pause) else { return false }
        case .resume: resume()
        case .show(let source):
            if let reason = show(source) {
                writer.answer(.refused(reason))
                return false
            }
        }
        writer.answer(.granted)
        return request == .stop
    }

    /// Readers see something else than the picture published last.
    private mutating func publishAgain() {
        session?.forgetPublished()
        schedule.noteDamage()
    }

    /// Keeps what `BroadcastState.paused` promises. Does not throw: a process that ends over a full disk would be started again,
    /// and show the screen.
    ///
    /// - Returns: whether nothing of the screen is left to be seen.
    @discardableResult
    private mutating func pause(withPlacard: Bool) -> Bool {
        let isNew = !isPaused
        isPaused = true
        var picture = writer.lastFrame ?? session?.frameInfo ?? .ofNothing
        if withPlacard || writer.lastFrame == nil { picture.capturedAt = MonotonicClock.now() }
        do throws(BridgeError) {
            try writer.publish(picture, leavingNothingElse: true) { planes in
                if withPlacard || !planes.followsAnother { planes.drawPlacard() } else { planes.keepAll() }
            }
            isHidden = true
        } catch {
            if isHidden { report("\(error)") }
            isHidden = false
        }
        setState(.paused)
        if isNew { report("paused: nothing of the screen leaves this process") }
        // Where there are no frames, the horizon alone hides those of the process before.
        return isHidden || writer.lastFrame == nil
    }

    private mutating func resume() {
        guard isPaused else { return }
        report("resumed")
        isPaused = false
        isHidden = true
        publishAgain()
        setState(session == nil ? .sourceLost : .active)
    }

    /// Shows something else from now on. What cannot be shown leaves everything as it is.
    ///
    /// - Returns: why it cannot be shown; nil if it can.
    private mutating func show(_ text: String) -> String? {
        do {
            guard let source = CaptureSource(text) else {
                report("there is no way to show \(text); \(settings.source) is shown as before")
                return "there is no way to show \(text)"
            }
            var changed = settings
            changed.source = source
            let session = try XSession(changed)
            try writer.setSource("\(source) of \(session.display)", words: session.source.words)
            settings = changed
            settings.source = session.source
            schedule = session.schedule(interval: interval)
            self.session = session
            isOrphaned = false
            // At once, though nobody watches: who comes next must not see what was shown before.
            watchedAt = MonotonicClock.now()
            hidesPast = true
            report("sharing \(source) (\(session.region)) now")
            return nil
        } catch {
            report("\(error); \(settings.source) is shown as before")
            return "\(error)"
        }
    }

    /// Looks at the screen if it is time, and publishes what it finds.
    private mutating func look(at now: UInt64) throws(BridgeError) {
        do {
            if session == nil { reconnect(at: now) }
            guard let session else { return }
            try noteEvents(of: session)
            guard isLooking, now >= writeAfter, let look = schedule.due(at: now) else { return }
            switch try session.look(look) {
            case .sourceLost:
                schedule.note(look, at: now, XSession.Sight())
                enterSourceLost("\(settings.source) is gone")
            case .seen(let sight):
                schedule.note(look, at: now, sight)
                if settings.showsCursor, sight.pointerIsNews { schedule.notePointer() }
                if sight.isMissed { noteMiss(at: now) }
                if sight.isNew || writer.state == .sourceLost { try publish(session) }
            }
            // Replies may have brought events along, and those do not make the descriptor readable again.
            try noteEvents(of: session)
        } catch let error as X11Error {
            lose(error)
        } catch let error as BridgeError {
            throw error
        } catch {
            preconditionFailure("neither the X server nor the bridge: \(error)")
        }
    }

    private mutating func noteEvents(of session: XSession) throws(X11Error) {
        let events = try session.drainEvents()
        if events.concernPicture { schedule.noteDamage() }
        if settings.showsCursor, events.concernPointer { schedule.notePointer() }
    }

    private mutating func noteMiss(at now: UInt64) {
        misses = now < missedAt + CaptureSchedule.trustTime ? misses + 1 : 1
        missedAt = now
        if misses >= Self.missesToTell, !hasToldOfMisses {
            hasToldOfMisses = true
            report("the X server does not tell of all that is drawn: while it is so, I look at the whole screen")
        }
    }

    private mutating func publish(_ session: XSession) throws(BridgeError) {
        do throws(BridgeError) {
            try writer.publish(session.frameInfo, leavingNothingElse: hidesPast) { session.draw(on: &$0) }
            session.notePublished()
            hidesPast = false
        } catch {
            // What was shown before is still there to be seen.
            guard writer.lastFrame != nil || settings.goesOn else { throw error }
            writeAfter = MonotonicClock.now() + Self.retryTime
            schedule.noteDamage()
            if writer.state != .error { report("\(error); the last picture stays while I try on") }
            return setState(.error, reason: "\(error)")
        }
        writeAfter = 0
        if writer.state == .sourceLost { report("\(settings.source) is back: \(session.region)") }
        if writer.state == .error { report("pictures can be written again") }
        setState(.active)
    }

    /// Readers go by the frames file; when only the status file cannot be written, for a full disk, the show goes on.
    private mutating func setState(_ state: BroadcastState, reason: String = "") {
        do { try writer.setState(state, reason: reason) } catch { report("\(error)") }
    }

    private mutating func reconnect(at now: UInt64) {
        guard !isOrphaned, now >= backoff.nextAttempt else { return }
        do {
            let session = try XSession(settings)
            schedule = session.schedule(interval: interval)
            self.session = session
            // Another X server, or another life of it.
            writer.startOver()
        } catch {
            backoff.noteFailure(at: MonotonicClock.now())
            noteEnd(error)
        }
    }

    /// A window that is gone does not come back; another one may have its identifier.
    private mutating func noteEnd(_ error: any Error) {
        guard case X11Error.noWindow? = error as? X11Error else { return }
        isOrphaned = true
        report("\(settings.source) is gone for good: choose what to show with \"oriel source\"")
    }

    private mutating func lose(_ error: X11Error) {
        session = nil
        backoff = Backoff(now: MonotonicClock.now())
        enterSourceLost("\(error)")
    }

    private mutating func enterSourceLost(_ reason: String) {
        guard writer.state != .sourceLost else { return }
        report("\(reason); the last picture stays while I look for it")
        if !isPaused { setState(.sourceLost, reason: reason) }
    }
}

extension FrameInfo {
    /// What a placard stands for where no screen was seen yet.
    fileprivate static var ofNothing: FrameInfo {
        FrameInfo(
            width: 1280,
            height: 720,
            capturedAt: MonotonicClock.now(),
            source: SourceRectangle(x: 0, y: 0, width: 1280, height: 720)
        )
    }
}
