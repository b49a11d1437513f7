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

    private let settings: CaptureSettings
    private let directory: BridgeDirectory
    private let report: (String) -> Void
    private let interval: UInt64
    private var writer: FrameWriter
    /// Nil while the X server is away.
    private var session: XSession?
    private var schedule: CaptureSchedule
    private var backoff: Backoff
    private var isPaused: Bool
    /// When to try again to write what could not be written; 0 while all is well.
    private var writeAfter: UInt64 = 0
    private var nextTick: UInt64
    private var watchedAt: UInt64

    /// Connects to the X server, finds the source, and takes the writer lock.
    ///
    /// - Parameter report: gets a sentence when something happens that a person may want to know.
    /// - Throws: `X11Error` when there is nothing to show, `BridgeError` when there is no place to show it.
    package init(
        _ settings: CaptureSettings,
        in directory: BridgeDirectory,
        report: @escaping (String) -> Void
    ) throws {
        let session = try XSession(settings)
        let writer = try FrameWriter(
            directory: directory,
            source: "\(settings.source) of \(session.display)",
            framesPerSecond: settings.framesPerSecond
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
        schedule = CaptureSchedule(interval: interval, hasDamage: session.hasDamage)
        backoff = Backoff(now: now)
        nextTick = now
        watchedAt = now
        if let warning = session.warning { report(warning) }
    }

    /// What is shown, in root-window pixels.
    package var region: CaptureRegion? { session?.region }

    /// Runs until a signal or a request to stop comes. Says `stopped` before it returns.
    package consuming func run(until signals: borrowing TerminationSignals) throws(BridgeError) {
        do throws(BridgeError) {
            if isPaused {
                report("still paused, as the process before was: go on with \"oriel resume\"")
                pause(withPlacard: true)
            }
            while !signals.take() {
                let now = MonotonicClock.now()
                if now >= nextTick {
                    nextTick = max(nextTick + interval, now)
                    if try tick(at: now) { break }
                } else {
                    try look(at: now)
                }
                waitReadable([signals.descriptor.raw, session?.fileDescriptor ?? -1], until: deadline)
            }
        } catch {
            try? writer.stop(reason: "\(error)")
            throw error
        }
        try writer.stop()
    }

    private var isWatched: Bool { MonotonicClock.now() < watchedAt + Self.unwatchedTime }

    private var deadline: UInt64 {
        session != nil && !isPaused && isWatched ? min(nextTick, max(schedule.deadline, writeAfter)) : nextTick
    }

    /// What happens at every frame interval. Returns whether to stop.
    private mutating func tick(at now: UInt64) throws(BridgeError) -> Bool {
        if !writer.heartbeat() {
            report("the frames file was removed or shrunk: making a new one")
            if isPaused { pause(withPlacard: true) } else { schedule.noteDamage() }
        }
        if writer.hasReaders { watchedAt = now }
        switch directory.takeRequest() {
        case .stop: return true
        case .pause: pause(withPlacard: true)
        case .freeze: pause(withPlacard: false)
        case .resume: try resume()
        case nil: break
        }
        try look(at: now, isTick: true)
        return false
    }

    /// Does not throw: a process that ends over a full disk would be started again, and show the screen.
    private mutating func pause(withPlacard: Bool) {
        if withPlacard, var placard = writer.lastFrame ?? session?.frameInfo {
            placard.capturedAt = MonotonicClock.now()
            do throws(BridgeError) {
                try writer.publish(placard, leavingNothingElse: true) { $0.drawPlacard() }
            } catch {
                report("\(error)")
            }
        }
        let isNew = !isPaused
        isPaused = true
        setState(.paused)
        if isNew { report("paused: nothing of the screen leaves this process") }
    }

    private mutating func resume() throws(BridgeError) {
        guard isPaused else { return }
        report("resumed")
        isPaused = false
        schedule.noteDamage()
        setState(session == nil ? .sourceLost : .active)
    }

    /// Looks at the screen if it is time, and publishes what it finds. Where the pointer is it asks at ticks only.
    private mutating func look(at now: UInt64, isTick: Bool = false) throws(BridgeError) {
        do {
            if session == nil { try reconnect(at: now) }
            guard let session else { return }
            if try session.drainEvents() { schedule.noteDamage() }
            guard !isPaused, isWatched, now >= writeAfter else { return }
            if let grab = schedule.due(at: now) {
                let found = try session.look(grab)
                schedule.noteGrab(at: now)
                switch found {
                case .changed:
                    if grab == .sweep { schedule.noteMiss(at: now) }
                    try publish(session)
                case .pointerMoved: try publish(session)
                case .unchanged: break
                case .sourceLost: try enterSourceLost("\(settings.source) is gone")
                }
            } else if isTick, writer.state != .sourceLost, schedule.pointerIsDue(at: now), try session.updateCursor() {
                schedule.notePointer(at: now)
                try publish(session)
            }
            // Replies may have brought events along, and those do not make the descriptor readable again.
            if try session.drainEvents() { schedule.noteDamage() }
        } catch let error as X11Error {
            try lose(error, at: now)
        } catch let error as BridgeError {
            throw error
        } catch {
            preconditionFailure("neither the X server nor the bridge: \(error)")
        }
    }

    private mutating func publish(_ session: XSession) throws(BridgeError) {
        do throws(BridgeError) {
            try writer.publish(session.frameInfo) { planes in
                let stride = planes.stride
                planes.withPlanes { luma, chroma in session.draw(luma: &luma, chroma: &chroma, stride: stride) }
            }
        } catch {
            // What was shown before is still there to be seen.
            guard writer.lastFrame != nil else { throw error }
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

    private mutating func reconnect(at now: UInt64) throws(BridgeError) {
        guard now >= backoff.nextAttempt else { return }
        do {
            let session = try XSession(settings)
            schedule = CaptureSchedule(interval: interval, hasDamage: session.hasDamage)
            self.session = session
        } catch {
            backoff.noteFailure(at: MonotonicClock.now())
        }
    }

    private mutating func lose(_ error: X11Error, at now: UInt64) throws(BridgeError) {
        session = nil
        backoff = Backoff(now: MonotonicClock.now())
        try enterSourceLost("\(error)")
    }

    private mutating func enterSourceLost(_ reason: String) throws(BridgeError) {
        guard writer.state != .sourceLost else { return }
        report("\(reason); the last picture stays while I look for it")
        if !isPaused { setState(.sourceLost, reason: reason) }
    }
}
