import Helpers
package import Posix
import Time

/// Runs the processes of `oriel share`, and does what `Supervision` decides.
package struct Supervisor {
    /// The time between two attempts to print while standard output takes nothing, as in a terminal stopped by Ctrl-S.
    private static let backlogTime = Duration.milliseconds(100)

    /// In the order of `Supervision.Process`.
    private let processes: [SupervisedProcess]

    /// - Parameter recorder: nil if nothing is recorded.
    package init(
        capture: SupervisedProcess,
        sender: SupervisedProcess,
        sound: SupervisedProcess,
        recorder: SupervisedProcess?
    ) {
        processes = [capture, sender, sound] + [recorder].compactMap(\.self)
    }

    /// Runs all processes until one has done its work, cannot do it, or a signal comes.
    ///
    /// - Returns: the exit code of a process that cannot do its work, and has said why; nil if the work is done.
    package func run(until signals: borrowing TerminationSignals) throws -> Int32? {
        var supervision = Supervision(processes.count, at: MonotonicClock.now())
        var problem: (any Error)?
        while true {
            if signals.take() { supervision.end() }
            let now: Instant = MonotonicClock.now()
            for (one, process) in zip(Supervision.Process.allCases, processes) {
                guard let exit = process.tend() else { continue }
                if supervision.noteEnd(of: one, by: exit, at: now) { process.tellOfCrash(exit) }
            }
            while let action = supervision.nextAction(at: now) {
                switch action {
                case .start(let one, let isFirst):
                    do { try processes[one.rawValue].start(isFirst: isFirst) } catch {
                        if one.isOptional { Console.note("\(error)") } else { problem = error }
                        supervision.noteFailedStart(of: one)
                    }
                case .terminate(let one): processes[one.rawValue].terminate()
                case .kill(let one): processes[one.rawValue].kill()
                }
            }
            if supervision.isOver { break }
            let descriptors = [signals.descriptor.raw] + processes.flatMap(\.descriptors)
            let hasBacklog = processes.contains(where: \.hasBacklog)
            let deadline = earliest(supervision.deadline, hasBacklog ? now + Self.backlogTime : nil)
            waitReadable(descriptors.span, until: deadline)
        }
        if let problem { throw problem }
        switch supervision.outcome {
        case .failed(let code): return code
        case .givenUp(let one, let exit):
            throw processes[one.rawValue].failure(by: exit, times: Supervision.mostRepeats)
        case .done, nil: return nil
        }
    }
}
