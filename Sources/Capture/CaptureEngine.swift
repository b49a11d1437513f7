import FrameBridge
import Time
import X11Capture

/// Decides the next actions of the capture process: when to look at the screen, when to publish, and how to handle
/// requests, a lost source and a full disk. Sans-IO: events go in with their instant (`handle`), actions come out one
/// by one (`nextAction`), and a deadline (`rest`).
///
/// Contract: perform each action, and handle its outcome, before taking the next one.
struct CaptureEngine {
    /// After this time without a reader, there are no looks at the screen.
    static let unwatchedTime = Duration.seconds(5)
    /// The time between two attempts to write a picture.
    static let retryTime = Duration.seconds(1)
    /// A little longer than the time between sweeps: each sweep comes with a heartbeat, which then needs no wake-up of
    /// its own. After two seconds without a heartbeat, readers treat a writer as stalled.
    static let heartbeatInterval = Duration.milliseconds(550)

    /// Between attempts to find the source again. A restarted X server is found within half a second, and an absent one
    /// costs two attempts a second.
    private static let attempts = Backoff(.milliseconds(50)...(.milliseconds(500)))

    private enum Source {
        /// A connection to the X server, and when to look at the source.
        case connected(CaptureSchedule)
        /// No connection, and when to try the next one.
        case sought(until: Instant, Backoff)
        /// A window that was destroyed. It is not sought, as another window may have its identifier.
        case gone
    }

    /// The picture that readers have.
    private enum Phase: Equatable {
        /// No picture of this process yet.
        case starting
        case showing
        /// The last picture, until the source is back.
        case sourceLost
        /// The last picture, as no other one can be written.
        case failing(retryAt: Instant)
        /// The slate, or the frozen picture. If it could not be written, each tick tries again with a slate.
        case paused(coverFailed: Bool)
        case ended(End)
    }

    enum End: Equatable {
        case clean
        /// The first picture could not be written.
        case failed(BridgeError)
    }

    private var source: Source
    private var phase: Phase
    private var actions: [Action] = []
    /// Whether readers have a picture, of this process or the one before. It stays while no other one can be written.
    private var hasPicture: Bool
    /// Whether the source has changed during a pause. Then its next picture goes into all slots.
    private var replacesAll = false
    private var heartbeatAt: Instant
    /// When to look at the folder again: inotify reports a reader's end just before the kernel frees its lock.
    private var callAgainAt: Instant?
    private var watchedUntil: Instant
    private var statisticsAt: Instant
    private var misses = Misses()

    /// - Parameters:
    ///   - start: the outcome of the first attempt to connect to the X server.
    ///   - isPaused: whether the process before was paused when it ended.
    ///   - goesOn: whether this process continues the broadcast of one that crashed.
    init(_ start: Connection, isPaused: Bool, goesOn: Bool, at now: Instant) {
        hasPicture = goesOn
        phase = isPaused ? .paused(coverFailed: false) : .starting
        source = Self.attempt(after: Self.attempts, at: now)
        heartbeatAt = now
        watchedUntil = now + Self.unwatchedTime
        statisticsAt = now + .seconds(1)
        switch start {
        case .made(let schedule, let warning): attach(schedule, warning)
        case .failed(let reason, let isForGood):
            lose(reason)
            if isForGood { giveUp() }
        }
        if isPaused { actions += [.tell(.stillPaused), .cover(.slate, isAsked: false)] }
    }

    private mutating func attach(_ schedule: CaptureSchedule, _ warning: String?) {
        source = .connected(schedule)
        if let warning { actions.append(.tell(.problem(warning))) }
    }

    private static func attempt(after backoff: Backoff, at now: Instant) -> Source {
        var backoff = backoff
        let wait = backoff.fail()
        return .sought(until: now + wait, backoff)
    }

    /// Set when the broadcast is to end, once the earlier actions are done.
    var end: End? { if case .ended(let end) = phase { end } else { nil } }

    mutating func nextAction() -> Action? { actions.isEmpty ? nil : actions.removeFirst() }

    /// How long to sleep, and whether events of the X server end the sleep. While a look waits for its time, they would
    /// wake the process in vain.
    func rest(at now: Instant) -> (until: Instant, hearsServer: Bool) {
        var look: Instant?
        var hearsServer = false
        switch source {
        case .connected(let schedule) where isLooking(at: now):
            look = if case .failing(let retryAt) = phase { max(schedule.deadline, retryAt) } else { schedule.deadline }
            hearsServer = !schedule.isWaiting
        case .connected, .gone: break
        case .sought(let until, _): look = until
        }
        return (earliest(look, callAgainAt).map { min($0, heartbeatAt) } ?? heartbeatAt, hearsServer)
    }

    mutating func handle(_ event: Event, at now: Instant) {
        if end != nil { return }
        switch event {
        case .signalled: end(.clean)
        case .woke(let isCalled): wake(isCalled: isCalled, at: now)
        case .beaten(let hasFile, let isWatched): tick(hasFile: hasFile, isWatched: isWatched, at: now)
        case .asked(let request): answer(request)
        case .served: turnToScreen(at: now)
        case .connected(.made(let schedule, let warning)):
            attach(schedule, warning)
            actions.append(.drain(thenLook: true))
        case .connected(.failed(_, let isForGood)):
            if case .sought(_, let backoff) = source { source = Self.attempt(after: backoff, at: now) }
            if isForGood { giveUp() }
        case .told(let news, let mayLook): noteEvents(news, mayLook: mayLook, at: now)
        case .looked(let look, let start, let sight): noteSight(sight, of: look, from: start)
        case .sourceAbsent(let look, let start, let reason):
            schedule?.noteLook(look, at: start, XSession.Sight())
            lose(reason)
            actions.append(.drain(thenLook: false))
        case .serverLost(let reason):
            source = Self.attempt(after: Self.attempts, at: now)
            lose(reason)
        case .published:
            replacesAll = false
            show()
        case .notPublished(let error): fail(error, at: now)
        case .covered(let isAsked): settlePause(coverFailed: false, isHidden: true, isAsked: isAsked)
        case .notCovered(let reason, let isHidden, let isAsked):
            if phase != .paused(coverFailed: true) { actions.append(.tell(.problem(reason))) }
            settlePause(coverFailed: true, isHidden: isHidden, isAsked: isAsked)
        case .adopted(let schedule, let warning): adopt(schedule, warning)
        case .notOpened(let reason): refuse(reason)
        case .notReplaced(let reason):
            // The horizon may already hide the earlier pictures from readers.
            publishAgain()
            refuse(reason)
        }
    }

    // MARK: - Turns

    private var schedule: CaptureSchedule? {
        get { if case .connected(let schedule) = source { schedule } else { nil } }
        set { if let newValue { source = .connected(newValue) } }
    }

    private var isPaused: Bool { if case .paused = phase { true } else { false } }

    private func isLooking(at now: Instant) -> Bool { schedule != nil && !isPaused && now < watchedUntil }

    private mutating func wake(isCalled: Bool, at now: Instant) {
        let isSweepDue = isLooking(at: now) && schedule?.isSweepDue(at: now) ?? false
        let isDue = now >= heartbeatAt || isSweepDue
        if isCalled || isDue || callAgainAt.map({ now >= $0 }) ?? false {
            callAgainAt = isCalled ? now + DirectoryWatch.unlockTime : nil
            if isDue { heartbeatAt = now + Self.heartbeatInterval }
            actions.append(.beat)
        }
        if now >= statisticsAt {
            actions.append(.reportStatistics)
            statisticsAt += .seconds(1)
            // Never twice in a row, even if it is late.
            if statisticsAt < now + .milliseconds(500) { statisticsAt = now + .seconds(1) }
        }
    }

    private mutating func tick(hasFile: Bool, isWatched: Bool, at now: Instant) {
        if !hasFile {
            actions.append(.tell(.fileLost))
            if !isPaused { publishAgain() }
        }
        if case .paused(let coverFailed) = phase, !hasFile || coverFailed {
            actions.append(.cover(.slate, isAsked: false))
        }
        if isWatched {
            if !isLooking(at: now) { schedule?.noteDamage() }
            watchedUntil = now + Self.unwatchedTime
        }
        actions.append(.takeRequest)
    }

    private mutating func turnToScreen(at now: Instant) {
        switch source {
        case .connected: actions.append(.drain(thenLook: true))
        case .sought(let until, _): if now >= until { actions.append(.connect) }
        case .gone: break
        }
    }

    // MARK: - The screen

    private mutating func noteEvents(_ news: XEvents, mayLook: Bool, at now: Instant) {
        if news.concernPicture { schedule?.noteDamage() }
        if news.concernPointer { schedule?.notePointer() }
        guard mayLook, isLooking(at: now) else { return }
        if case .failing(let retryAt) = phase, now < retryAt { return }
        if let look = schedule?.due(at: now) { actions.append(.look(look)) }
    }

    private mutating func noteSight(_ sight: XSession.Sight, of look: CaptureSchedule.Look, from start: Instant) {
        schedule?.noteLook(look, at: start, sight)
        if sight.pointerIsNews { schedule?.notePointer() }
        if sight.isMissed, misses.noteMiss(at: start) { actions.append(.tell(.missedDamage)) }
        if sight.isNew || phase == .sourceLost { actions.append(.publish(replacingAll: replacesAll)) }
        // Events that came with the replies do not make the connection readable again.
        actions.append(.drain(thenLook: false))
    }

    /// Shows readers the present source.
    private mutating func show() {
        hasPicture = true
        switch phase {
        case .showing, .paused, .ended: return
        case .starting: break
        case .sourceLost: actions.append(.tell(.sourceBack))
        case .failing: actions.append(.tell(.writable))
        }
        phase = .showing
        actions.append(.setState(.active, reason: ""))
    }

    private mutating func fail(_ error: BridgeError, at now: Instant) {
        guard hasPicture else { return end(.failed(error)) }
        schedule?.noteDamage()
        if case .failing = phase {} else { actions.append(.tell(.notWritten("\(error)"))) }
        phase = .failing(retryAt: now + Self.retryTime)
        actions.append(.setState(.error, reason: "\(error)"))
    }

    /// Readers no longer have the last published picture: the next one is drawn as a whole.
    private mutating func publishAgain() {
        schedule?.noteDamage()
        actions.append(.forgetPublished)
    }

    private mutating func lose(_ reason: String) {
        if phase == .sourceLost { return }
        actions.append(.tell(.sourceLost(reason)))
        if isPaused { return }
        phase = .sourceLost
        actions.append(.setState(.sourceLost, reason: reason))
    }

    private mutating func giveUp() {
        source = .gone
        actions.append(.tell(.sourceGone))
    }

    // MARK: - Requests

    private mutating func answer(_ request: BridgeRequest?) {
        switch request {
        case nil: break
        case .stop: end(.clean, after: .answer(.granted))
        case .pause: actions.append(.cover(.slate, isAsked: true))
        case .freeze: actions.append(.cover(.lastPicture, isAsked: true))
        case .resume:
            if isPaused { resume() }
            actions.append(.answer(.granted))
        case .show(let words): actions.append(.adopt(words, publishing: !isPaused))
        }
    }

    /// Keeps the promise of `BroadcastState.paused`. A full disk does not end the process during a pause: a restarted
    /// one would show the screen.
    ///
    /// - Parameter isHidden: whether readers see nothing of the screen. Otherwise the request gets no answer, and the
    ///   next tick takes it again.
    private mutating func settlePause(coverFailed: Bool, isHidden: Bool, isAsked: Bool) {
        let isNew = !isPaused
        if !coverFailed { hasPicture = true }
        phase = .paused(coverFailed: coverFailed)
        actions.append(.setState(.paused, reason: ""))
        if isNew { actions.append(.tell(.paused)) }
        if isAsked, isHidden { actions.append(.answer(.granted)) }
    }

    private mutating func resume() {
        actions.append(.tell(.resumed))
        // A successor shows the new source at once. The source before must not be visible until then.
        if replacesAll { actions.append(.hidePast) }
        publishAgain()
        let isConnected = schedule != nil
        phase = isConnected ? .showing : .sourceLost
        actions.append(.setState(isConnected ? .active : .sourceLost, reason: ""))
    }

    /// Puts another source in the place of the one before: in all slots or, during a pause, behind the cover.
    private mutating func adopt(_ schedule: CaptureSchedule, _ warning: String?) {
        source = .connected(schedule)
        actions.append(.tell(.sourceChanged))
        if let warning { actions.append(.tell(.problem(warning))) }
        replacesAll = isPaused
        // The note `sourceBack` would be about the former source.
        if phase == .sourceLost { phase = .starting }
        if !isPaused { show() }
        actions.append(.answer(.granted))
    }

    private mutating func refuse(_ reason: String) {
        actions += [.tell(.sourceRefused(reason)), .answer(.refused(reason))]
    }

    private mutating func end(_ end: End, after last: Action? = nil) {
        actions.removeAll()
        if let last { actions.append(last) }
        phase = .ended(end)
    }
}
