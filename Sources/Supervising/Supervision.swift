import Posix
import Time

/// Decides when the processes of `oriel share` are started, started again, and ended. Sans-IO: what became of a process
/// goes in with its instant, actions come out (`nextAction`), and a deadline.
///
/// Capture process or sender, having done its work or being unable to do it, ends all. A broadcast without sound, recording or devices nearby
/// is better than none: those processes end nothing.
struct Supervision {
    enum Process: Int, CaseIterable {
        case capture, sender, sound, recorder, nearby

        var isOptional: Bool { self != .capture && self != .sender }
    }

    enum Action: Equatable {
        /// - `isFirst`: whether it runs for the first time, and does not go on after a crash.
        case start(Process, isFirst: Bool)
        case terminate(Process)
        /// End it by force.
        case kill(Process)
    }

    enum Outcome: Equatable {
        /// The work is done, or is no longer wanted.
        case done
        /// A process failed at its first start, or again and again soon after one, with this exit code.
        case failed(Int32)
        /// A process ended in the same way again and again soon after its start, by a signal, say: nobody has said why.
        case givenUp(Process, ChildProcess.Exit)
    }

    static let delays = Duration.milliseconds(250)...Duration.seconds(8)
    /// A process that ran this long did its work: its delay and its failures are forgotten.
    static let trialTime = Duration.seconds(10)
    /// How often in a row a process may give up soon after its start: an obstacle, such as a port still in use, may pass.
    static let mostFailures = 3
    /// How often in a row a process may end in the same way soon after its start, whatever the way: a limit of the system (SIGXFSZ), or
    /// a mistake of ours, stays.
    static let mostRepeats = 5
    /// How long a process may take to end when it is asked to, and when it is killed.
    static let patience = Duration.seconds(3)

    private struct Course {
        enum State {
            case waiting(until: Instant)
            case running(since: Instant)
            case terminated(patientUntil: Instant)
            case killed(patientUntil: Instant)
            case ended
        }

        var state: State
        var backoff = Backoff(delays)
        var hasRun = false
        /// Runs in a row that gave up soon.
        var failures = 0
        /// Runs in a row that ended soon, and all by `lastExit`.
        var repeats = 0
        var lastExit: ChildProcess.Exit?
    }

    /// In the order of `Process`.
    private var courses: [Course]
    /// Set when everything is to end.
    private(set) var outcome: Outcome?

    /// - Parameter processes: those that there are.
    init(_ processes: Set<Process> = Set(Process.allCases), at now: Instant) {
        courses = Process.allCases.map { Course(state: processes.contains($0) ? .waiting(until: now) : .ended) }
    }

    /// Whether all processes have ended, or were given up.
    var isOver: Bool { courses.allSatisfy { if case .ended = $0.state { true } else { false } } }

    /// When to ask for the next action, if nothing else happens.
    var deadline: Instant? {
        courses.compactMap { course in
            switch course.state {
            case .waiting(let until): outcome == nil ? until : nil
            case .terminated(let until), .killed(let until): until
            case .running, .ended: nil
            }
        }.min()
    }

    /// What to do now; nil for nothing.
    mutating func nextAction(at now: Instant) -> Action? {
        if outcome == nil {
            for process in Process.allCases {
                guard case .waiting(let until) = self[process].state, now >= until else { continue }
                self[process].state = .running(since: now)
                return .start(process, isFirst: !self[process].hasRun)
            }
            return nil
        }
        // The recorder ends its file, and the sender says goodbye, while there is still a picture.
        for process in [Process.recorder, .nearby, .sender, .sound, .capture] {
            switch self[process].state {
            case .waiting: self[process].state = .ended
            case .running:
                self[process].state = .terminated(patientUntil: now + Self.patience)
                return .terminate(process)
            case .terminated(let until) where now >= until:
                self[process].state = .killed(patientUntil: now + Self.patience)
                return .kill(process)
            case .killed(let until) where now >= until: self[process].state = .ended
            case .terminated, .killed: return nil
            case .ended: break
            }
        }
        return nil
    }

    mutating func end() { outcome = outcome ?? .done }

    /// A process could not be started, and nothing can be done about it.
    mutating func noteFailedStart(of process: Process) {
        self[process].state = .ended
        if process.isOptional { return }
        outcome = outcome ?? .failed(1)
    }

    /// A process has ended. Returns whether it is started again, which a person should know.
    mutating func noteEnd(of process: Process, by exit: ChildProcess.Exit, at now: Instant) -> Bool {
        guard outcome == nil, case .running(let start) = self[process].state else {
            self[process].state = .ended
            return false
        }
        let outcome = judge(process, exit, after: now - start)
        if let outcome, !process.isOptional {
            self.outcome = outcome
            self[process].state = .ended
            return false
        }
        self[process].hasRun = true
        self[process].state = .waiting(until: now + self[process].backoff.fail())
        // They end well with the broadcast, which is told; of one that never does, enough was told.
        return !process.isOptional
            || exit != .code(0) && self[process].failures <= Self.mostFailures
                && self[process].repeats < Self.mostRepeats
    }

    /// Nil if the process is to be started again.
    private mutating func judge(_ process: Process, _ exit: ChildProcess.Exit, after lived: Duration) -> Outcome? {
        if exit == .code(0) { return .done }
        var course = self[process]
        defer { self[process] = course }
        if lived >= Self.trialTime {
            course.backoff.succeed()
            (course.failures, course.repeats, course.lastExit) = (0, 0, nil)
            return nil
        }
        course.repeats = exit == course.lastExit ? course.repeats + 1 : 1
        course.lastExit = exit
        if case .code(let code) = exit {
            course.failures += 1
            if !course.hasRun || course.failures == Self.mostFailures { return .failed(code) }
        }
        return course.repeats >= Self.mostRepeats ? .givenUp(process, exit) : nil
    }

    private subscript(process: Process) -> Course {
        get { courses[process.rawValue] }
        set { courses[process.rawValue] = newValue }
    }
}
