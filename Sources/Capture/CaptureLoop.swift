package import FrameBridge
package import Pixels
package import Posix
import Time
import X11Capture

/// The capture process: looks at the screen, publishes changes, and obeys requests, until it is told to stop.
/// `CaptureEngine` decides; this performs its actions, and waits.
package struct CaptureLoop: ~Copyable {
    private var settings: CaptureSettings
    private let directory: BridgeDirectory
    private let report: (String) -> Void
    private var writer: FrameWriter
    private var engine: CaptureEngine
    /// Nil while the X server is away.
    private var session: XSession? {
        willSet { if let session { past = session.statistics } }
    }
    private var past = CaptureStatistics()

    /// Connects to the X server, finds the source, and takes the writer lock. A loop that continues for a crashed
    /// process (`settings.goesOn`) starts without a source too.
    ///
    /// - Parameter report: gets sentences for a person.
    /// - Throws: `X11Error` if there is nothing to show, `BridgeError` if there is no place to show it.
    package init(
        _ settings: CaptureSettings,
        in directory: BridgeDirectory,
        report: @escaping (String) -> Void
    ) throws {
        let (session, start) = try Self.open(settings)
        var settings = settings
        if let session { settings.source = session.source }
        writer = try FrameWriter(
            directory: directory,
            source: session.map { "\(settings.source) of \($0.display)" } ?? "\(settings.source)",
            sourceWords: settings.source.words,
            framesPerSecond: settings.framesPerSecond,
            storage: settings.storage
        )
        engine = CaptureEngine(
            start,
            isPaused: writer.state == .paused,
            goesOn: settings.goesOn,
            at: MonotonicClock.now()
        )
        self.settings = settings
        self.directory = directory
        self.report = report
        self.session = session
        if let session { tellProcess(of: session) }
    }

    /// A failed write is repeated with the heartbeats.
    private mutating func tellProcess(of session: XSession) {
        try? writer.setWindowProcess(session.windowProcess)
    }

    private static func open(
        _ settings: CaptureSettings
    ) throws(X11Error) -> (XSession?, CaptureEngine.Connection) {
        do throws(X11Error) {
            let session = try XSession(settings)
            return (session, .made(session.schedule(at: MonotonicClock.now()), warning: session.warning))
        } catch {
            guard settings.goesOn else { throw error }
            return (nil, .failed(reason: "\(error)", isForGood: error.isForGood))
        }
    }

    /// The place of the source, in root-window pixels.
    package var region: PixelRect? { session?.region }

    /// Runs until a signal or a request to stop. Sets the state `stopped` before it returns.
    package consuming func run(
        until signals: borrowing TerminationSignals,
        eachSecond: (CaptureStatistics) -> Void
    ) throws(BridgeError) {
        let watch = directory.watch()
        act(eachSecond)
        while true {
            handle(signals.take() ? .signalled : .woke(isCalled: watch.take()))
            act(eachSecond)
            handle(.served)
            act(eachSecond)
            if let end = engine.end {
                guard case .failed(let error) = end else { break }
                try? writer.stop(reason: "\(error)")
                throw error
            }
            let (deadline, hearsServer) = engine.rest(at: MonotonicClock.now())
            let server = hearsServer ? session?.fileDescriptor : nil
            waitReadable(signals.descriptor.raw, watch.descriptor, server ?? -1, until: deadline)
        }
        try writer.stop()
    }

    private mutating func handle(_ event: CaptureEngine.Event) { engine.handle(event, at: MonotonicClock.now()) }

    private mutating func act(_ eachSecond: (CaptureStatistics) -> Void) {
        while let action = engine.nextAction() {
            switch action {
            case .beat: handle(.beaten(hasFile: writer.heartbeat(), isWatched: writer.hasReaders))
            case .takeRequest: handle(.asked(writer.takeRequest()))
            case .answer(let answer): writer.answer(answer)
            case .setState(let state, let reason): setState(state, reason)
            case .tell(let note): report(note.sentence(source: settings.source, region: region))
            case .reportStatistics: eachSecond(session?.statistics ?? past)
            case .connect: connect()
            case .drain(let thenLook): drain(thenLook: thenLook)
            case .look(let look): self.look(look)
            case .publish(let replacingAll): publish(replacingAll: replacingAll)
            case .forgetPublished: session?.forgetPublished()
            case .cover(let cover, let isAsked): hide(behind: cover, isAsked: isAsked)
            case .hidePast: writer.hide(before: MonotonicClock.now())
            case .adopt(let words, let publishing): adopt(words, publishing: publishing)
            }
        }
    }

    /// Readers rely on the frames file. So the broadcast continues if only the status file cannot be written (full
    /// disk).
    private mutating func setState(_ state: BroadcastState, _ reason: String) {
        do { try writer.setState(state, reason: reason) } catch { report("\(error)") }
    }

    // MARK: - The screen

    private mutating func connect() {
        do throws(X11Error) {
            let session = try XSession(settings, after: past)
            self.session = session
            tellProcess(of: session)
            // Another X server, or the same one after a restart.
            writer.startOver()
            handle(.connected(.made(session.schedule(at: MonotonicClock.now()), warning: session.warning)))
        } catch {
            handle(.connected(.failed(reason: "\(error)", isForGood: error.isForGood)))
        }
    }

    private mutating func drain(thenLook: Bool) {
        guard let session else { return }
        do throws(X11Error) { handle(.told(try session.drainEvents(), mayLook: thenLook)) } catch { lose(error) }
    }

    private mutating func look(_ look: CaptureSchedule.Look) {
        guard let session else { return }
        let start = MonotonicClock.now()
        do throws(X11Error) {
            if let sight = try session.look(look) { return handle(.looked(look, from: start, sight)) }
            handle(.sourceAbsent(look, from: start, reason: "\(settings.source) is \(session.absence)"))
        } catch {
            lose(error)
        }
    }

    private mutating func lose(_ error: X11Error) {
        session = nil
        handle(.serverLost("\(error)"))
    }

    // MARK: - Pictures

    private mutating func publish(replacingAll: Bool) {
        guard let session else { return }
        do throws(BridgeError) { try publish(session, replacingAll: replacingAll) } catch {
            return handle(.notPublished(error))
        }
        handle(.published)
    }

    private mutating func publish(_ session: XSession, replacingAll: Bool) throws(BridgeError) {
        try writer.publish(session.frameInfo, leavingNothingElse: replacingAll) { session.draw(on: &$0) }
        session.notePublished()
    }

    private mutating func hide(behind cover: CaptureEngine.Action.Cover, isAsked: Bool) {
        let now = MonotonicClock.now()
        var picture = writer.lastFrame ?? session?.frameInfo ?? .ofNothing(at: now)
        let isSlate = cover == .slate
        if isSlate || writer.lastFrame == nil { picture.capturedAt = now }
        do throws(BridgeError) {
            try writer.publish(picture, leavingNothingElse: true) { planes in
                if isSlate || !planes.followsAnother { planes.drawSlate() } else { planes.keepAll() }
            }
            handle(.covered(isAsked: isAsked))
        } catch {
            handle(.notCovered(reason: "\(error)", isHidden: writer.lastFrame == nil, isAsked: isAsked))
        }
    }

    // MARK: - Another source

    private mutating func adopt(_ words: String, publishing: Bool) {
        guard let source = CaptureSource(words) else { return handle(.notOpened("there is no way to show \(words)")) }
        var changed = settings
        changed.source = source
        do throws(X11Error) {
            let session = try XSession(changed, after: session?.statistics ?? past)
            let start = MonotonicClock.now()
            var schedule = session.schedule(at: start)
            if publishing {
                guard let sight = try session.look(.atAll) else {
                    return handle(.notOpened("\(source) is \(session.absence), or changes too fast: try again"))
                }
                schedule.noteLook(.atAll, at: start, sight)
            }
            adopt(session, schedule, publishing: publishing)
        } catch {
            handle(.notOpened("\(error)"))
        }
    }

    private mutating func adopt(_ session: XSession, _ schedule: CaptureSchedule, publishing: Bool) {
        // The name comes first. If this process dies in between, its successor must not show the former source again.
        do throws(BridgeError) {
            try writer.setSource("\(session.source) of \(session.display)", words: session.source.words)
        } catch {
            return handle(.notOpened("\(error)"))
        }
        if publishing {
            do throws(BridgeError) {
                // First without a horizon: if there is no room, the former picture stays, and must not be hidden.
                try publish(session, replacingAll: false)
                try publish(session, replacingAll: true)
            } catch {
                let display = self.session.map { " of \($0.display)" } ?? ""
                try? writer.setSource("\(settings.source)\(display)", words: settings.source.words)
                return handle(.notReplaced("\(error)"))
            }
        }
        settings.source = session.source
        self.session = session
        tellProcess(of: session)
        handle(.adopted(schedule, warning: session.warning))
    }
}

extension X11Error {
    /// A window that is gone does not come back. Another one may have its identifier.
    fileprivate var isForGood: Bool { if case .noWindow = self { true } else { false } }
}

extension FrameInfo {
    /// The picture that a slate replaces before the first look at a screen.
    fileprivate static func ofNothing(at now: Instant) -> FrameInfo {
        FrameInfo(
            width: 1280,
            height: 720,
            capturedAt: now,
            source: SourceRectangle(x: 0, y: 0, width: 1280, height: 720)
        )
    }
}
