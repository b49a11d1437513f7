import Helpers
package import Posix
import Time

/// Runs the processes of `oriel share`, and does what `Supervision` decides.
package struct Supervisor {
    /// The time between two attempts to print while standard output takes nothing, as in a terminal stopped by Ctrl-S.
    private static let backlogTime = Duration.milliseconds(100)

    private let processes: [Supervision.Process: SupervisedProcess]

    /// - Parameters:
    ///   - recorder: nil if nothing is recorded.
    ///   - nearby: nil if this device is not announced.
    package init(
        capture: SupervisedProcess,
        sender: SupervisedProcess,
        sound: SupervisedProcess,
        recorder: SupervisedProcess?,
        nearby: SupervisedProcess?
    ) {
        var processes: [Supervision.Process: SupervisedProcess] = [.capture: capture, .sender: sender, .sound: sound]
        (processes[.recorder], processes[.nearby]) = (recorder, nearby)
        self.processes = processes
    }

    /// Runs all processes until one has done its work, cannot do it, or a signal comes.
    ///
    /// - Returns: the exit code of a process that cannot do its work, and has said why; nil if the work is done.
    package func run(until signals: borrowing TerminationSignals) throws -> Int32? {
        var supervision = Supervision(Set(processes.keys), at: MonotonicClock.now())
        var problem: (any Error)?
        while true {
            if signals.take() { supervision.end() }
            let now: Instant = MonotonicClock.now()
            for (one, process) in processes {
                guard let exit = process.tend() else { continue }
                if supervision.noteEnd(of: one, by: exit, at: now) { process.tellOfCrash(exit) }
            }
            while let action = supervision.nextAction(at: now) {
                switch action {
                case .start(let one, let isFirst):
                    do { try processes[one]!.start(isFirst: isFirst) } catch {
                        if one.isOptional { Console.note("\(error)") } else { problem = error }
                        supervision.noteFailedStart(of: one)
                    }
                case .terminate(let one): processes[one]!.terminate()
                case .kill(let one): processes[one]!.kill()
                }
            }
            if supervision.isOver { break }
            let descriptors = [signals.descriptor.raw] + processes.values.flatMap(\.descriptors)
            let hasBacklog = processes.values.contains(where: \.hasBacklog)
            let deadline = earliest(supervision.deadline, hasBacklog ? now + Self.backlogTime : nil)
            waitReadable(descriptors.span, until: deadline)
        }
        if let problem { throw problem }
        switch supervision.outcome {
        case .failed(let code): return code
        case .givenUp(let one, let exit):
            throw processes[one]!.failure(by: exit, times: Supervision.mostRepeats)
        case .done, nil: return nil
        }
    }
}
