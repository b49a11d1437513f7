import Control
import Media
import Time

/// Decides when the sound process is connected to the sound server, and its streams there. Sans-IO: events go in with
/// their instant (`handle`), actions come out one by one (`nextAction`), and a deadline.
///
/// Contract: perform each action before taking the next one. Its later results go in as events.
struct SoundSession {
    /// How long the sound server may take to answer.
    static let patience = Duration.seconds(4)
    static let longestDelay = Duration.seconds(4)
    private static let delays = Duration.milliseconds(250)...longestDelay

    private enum Server: Equatable {
        /// There is no need for it.
        case unwanted
        case awaited(until: Instant)
        /// It was asked to accept this process, or to list its devices.
        case asked(patientUntil: Instant)
        case known(ServerView)
    }

    private struct Course {
        enum State {
            case opening(patientUntil: Instant)
            case open
            case failed(retryAt: Instant)
        }

        var id: Int
        var state: State
        var backoff = Backoff(delays)
        /// Failed connections in a row.
        var failures = 0
    }

    /// A topic that is reported to a person once, until it changes.
    private enum Subject: Hashable {
        case server, microphone, sink, program
        case target(SoundTarget)
    }

    private(set) var wish: SoundWish
    private(set) var mute: SoundMute
    private var broadcast = BroadcastView()
    private var talk = (isPossible: false, isHeard: false)
    private var server = Server.unwanted
    private var serverBackoff = Backoff(delays)
    /// When the sound server last answered while there were streams.
    private var answeredAt: Instant?
    private var courses: [SoundTarget: Course] = [:]
    private var lastID = 0
    private var troubles: [Subject: SoundNote] = [:]
    private var actions: [Action] = []
    /// The last report about the microphone.
    private var liveMicrophone: String?
    private let isPart: (_ process: Int32, _ whole: Int32) -> Bool

    /// - Parameters:
    ///   - mute: as an earlier process has left it.
    ///   - isPart: whether a process is the other one, or a direct or indirect child of it.
    init(_ wish: SoundWish, _ mute: SoundMute, isPart: @escaping (_ process: Int32, _ whole: Int32) -> Bool) {
        (self.wish, self.mute, self.isPart) = (wish, mute, isPart)
    }

    mutating func nextAction() -> Action? { actions.isEmpty ? nil : actions.removeFirst() }

    /// The instant of the next action if no event comes.
    var deadline: Instant? {
        var deadline: Instant?
        switch server {
        case .unwanted: return nil
        case .awaited(let until), .asked(let until): return until
        case .known: break
        }
        for course in courses.values {
            switch course.state {
            case .opening(let until), .failed(let until): deadline = earliest(deadline, until)
            case .open: deadline = earliest(deadline, answeredAt.map { $0 + Self.patience })
            }
        }
        return deadline
    }

    /// Whether no sound server can be had at present.
    var hasNoServer: Bool { if case .awaited = server { true } else { false } }

    /// Whether any sound may be recorded now.
    var isHearing: Bool { wish.source != .none && !broadcast.isPaused && !mute.all }

    var state: SoundSnapshot.State {
        if wish.source == .none { return .off }
        if broadcast.isPaused { return .paused }
        if mute.all || wish.source == .microphone && mute.microphone { return .muted }
        let isOpen = openTargets.values.contains { $0.sink == nil }
        return isOpen ? .hearing : .waiting
    }

    /// The microphones in use, by their sources' names.
    var openMicrophones: [String] {
        courses.compactMap { target, course in
            if case .microphone(let name, _) = target, case .open = course.state { name } else { nil }
        }
    }

    var openTargets: [Int: SoundTarget] {
        var open: [Int: SoundTarget] = [:]
        for (target, course) in courses { if case .open = course.state { open[course.id] = target } }
        return open
    }

    /// The sound server's devices and streams; nil if unknown.
    var view: ServerView? { if case .known(let view) = server { view } else { nil } }

    var problems: [SoundNote] { troubles.values.sorted { $0.description < $1.description } }

    mutating func handle(_ event: Event, at now: Instant) {
        let before = (isHearing, wish, mute)
        switch event {
        case .wished(let wish): self.wish = wish
        case .muted(let mute): self.mute = mute
        case .broadcast(let broadcast): self.broadcast = broadcast
        case .talk(let isPossible, let isHeard): talk = (isPossible, isHeard)
        case .connected: if case .asked = server { server = .asked(patientUntil: now + Self.patience) }
        case .serverLost(let reason): lose(reason, at: now)
        case .viewed(let view): learn(view, at: now)
        case .opened(let id): open(id, at: now)
        case .failed(let id, let reason): fail(id, reason, at: now)
        case .answered: answeredAt = now
        case .woke: break
        }
        checkPatience(at: now)
        settle(at: now)
        let isLess = before.0 && !isHearing || !before.2.microphone && mute.microphone
        if isLess || before.1.source != wish.source || before.1.microphone != wish.microphone { actions.append(.hide) }
        tellOfMicrophone()
    }

    // MARK: - The sound server

    private mutating func learn(_ view: ServerView, at now: Instant) {
        switch server {
        case .unwanted, .awaited: return
        case .asked, .known: break
        }
        if troubles.removeValue(forKey: .server) != nil { actions.append(.tell(.serverBack)) }
        server = .known(view)
        serverBackoff.succeed()
        answeredAt = now
    }

    private mutating func lose(_ reason: String, at now: Instant) {
        courses = [:]
        guard server != .unwanted else { return }
        actions.append(.disconnect)
        server = .awaited(until: now + serverBackoff.fail())
        tell(.serverLost(reason), of: .server)
    }

    /// Gives up on a sound server that does not answer, for a while.
    private mutating func checkPatience(at now: Instant) {
        var isOver = false
        if case .asked(let until) = server { isOver = now >= until }
        for course in courses.values {
            if case .opening(let until) = course.state, now >= until { isOver = true }
            if case .open = course.state, let answeredAt, now >= answeredAt + Self.patience { isOver = true }
        }
        if isOver { lose("it does not answer", at: now) }
    }

    // MARK: - Streams

    private mutating func open(_ id: Int, at now: Instant) {
        guard let target = target(id) else { return }
        courses[target]!.state = .open
        courses[target]!.backoff.succeed()
        courses[target]!.failures = 0
        answeredAt = now
        troubles[.target(target)] = nil
    }

    private mutating func fail(_ id: Int, _ reason: String, at now: Instant) {
        guard let target = target(id), var course = courses[target] else { return }
        // An open stream was lost with its device. The next list shows a replacement. The program's sound may just have
        // ended.
        if case .opening = course.state { course.failures += 1 }
        if course.failures > (target.isInput ? 1 : 0) {
            tell(.refused(view?.name(of: target) ?? "the sound", reason: reason), of: .target(target))
        }
        actions.append(.close(id))
        course.state = .failed(retryAt: now + course.backoff.fail())
        courses[target] = course
    }

    private func target(_ id: Int) -> SoundTarget? { courses.first { $0.value.id == id }?.key }

    /// Opens wanted streams, and closes the others.
    private mutating func settle(at now: Instant) {
        guard wish.source != .none || talk.isPossible || talk.isHeard else {
            switch server {
            case .asked, .known: actions.append(.disconnect)
            case .unwanted, .awaited: break
            }
            (server, courses, troubles) = (.unwanted, [:], [:])
            serverBackoff.succeed()
            return
        }
        switch server {
        case .unwanted: connect(at: now)
        case .awaited(let until): if now >= until { connect(at: now) }
        case .asked: break
        case .known(let view):
            let (wanted, obstacles) = wanted(of: view)
            for subject in [Subject.sink, .microphone, .program] {
                if let note = obstacles[subject] { tell(note, of: subject) } else { troubles[subject] = nil }
            }
            for (target, course) in courses where !wanted.contains(target) {
                if case .failed = course.state {} else { actions.append(.close(course.id)) }
                courses[target] = nil
                troubles[.target(target)] = nil
            }
            for target in wanted { begin(target, at: now) }
        }
    }

    private mutating func connect(at now: Instant) {
        server = .asked(patientUntil: now + Self.patience)
        actions.append(.connect)
    }

    private mutating func begin(_ target: SoundTarget, at now: Instant) {
        var course = courses[target] ?? Course(id: 0, state: .failed(retryAt: now))
        guard case .failed(let retryAt) = course.state, now >= retryAt else { return }
        lastID += 1
        course.id = lastID
        course.state = .opening(patientUntil: now + Self.patience)
        courses[target] = course
        actions.append(.open(lastID, target))
    }

    private func wanted(of view: ServerView) -> (targets: [SoundTarget], obstacles: [Subject: SoundNote]) {
        var targets: [SoundTarget] = []
        var obstacles: [Subject: SoundNote] = [:]
        let output = view.sink(named: wish.output)
        if talk.isHeard {
            if let output { targets.append(.output(output.name)) } else { obstacles[.sink] = .noSink(wish.output) }
        }
        guard isHearing else { return (targets, obstacles) }
        if wish.source.hasMicrophone, !mute.microphone {
            if let microphone = view.microphone(named: wish.microphone) {
                targets.append(.microphone(microphone.name, cancelsEcho: talk.isPossible))
            } else {
                obstacles[.microphone] = .noMicrophone(wish.microphone)
            }
        }
        switch wish.source {
        case .monitor, .mix:
            guard let sink = view.sink(named: nil) else { break }
            // Peers who speak would hear themselves in a monitor of the sink that plays them, and chimes are for this side alone.
            if talk.isPossible || talk.isHeard, output == sink {
                targets += view.inputs.filter { $0.sink == sink.index && !$0.isOwn }.map { .input($0.index) }
            } else {
                targets.append(.monitor(sink.monitor))
            }
        case .application:
            guard let whole = broadcast.process else {
                obstacles[.program] = .noProgram
                break
            }
            let heard = view.inputs.filter { input in
                !input.isOwn && input.process.map { isPart($0, whole) } ?? false
            }
            targets += heard.map { .input($0.index) }
        case .microphone, .none: break
        }
        return (targets, obstacles)
    }

    // MARK: - Reports to people

    private mutating func tell(_ note: SoundNote, of subject: Subject) {
        // Another reason for the same missing server is not reported.
        let isKnown = subject == .server ? troubles[subject] != nil : troubles[subject] == note
        troubles[subject] = note
        if !isKnown { actions.append(.tell(note)) }
    }

    private mutating func tellOfMicrophone() {
        let live = openMicrophones.first.map { view?.name(of: .microphone($0, cancelsEcho: false)) ?? $0 }
        guard live != liveMicrophone else { return }
        liveMicrophone = live
        actions.append(.tell(live.map { .microphoneLive($0) } ?? .microphoneOff))
    }
}
