import Posix
import TestSupport
import Testing
import Time

@testable import Supervising

@Suite struct SupervisionTests {
    private typealias Action = Supervision.Action

    /// A supervisor with the processes that it started, in virtual time.
    private final class Virtual {
        var now = Instant.seconds(100)
        var supervision: Supervision

        init(_ processes: Int) {
            supervision = Supervision(Set(Supervision.Process.allCases.prefix(processes)), at: .seconds(100))
        }

        /// What is to be done now.
        func actions() -> [Action] {
            var actions: [Action] = []
            while let action = supervision.nextAction(at: now) { actions.append(action) }
            return actions
        }

        /// Lets a process end, and returns whether it will be started again.
        func end(_ process: Supervision.Process, by exit: ChildProcess.Exit, after time: Duration) -> Bool {
            now += time
            return supervision.noteEnd(of: process, by: exit, at: now)
        }

        /// Waits for the deadline, as long as there is one, and returns for how long and what is done then.
        func wait() -> (Duration, [Action])? {
            guard let deadline = supervision.deadline else { return nil }
            let time = deadline - now
            #expect(time > .zero, "nothing is due twice")
            #expect(actions() == [], "nothing is done before its time")
            now = deadline
            return (time, actions())
        }
    }

    /// - Parameter processes: with a recorder, four; with devices nearby, five.
    private func running(_ processes: Int = 3) -> Virtual {
        let virtual = Virtual(processes)
        let started = Supervision.Process.allCases.prefix(processes)
        #expect(virtual.actions() == started.map { .start($0, isFirst: true) })
        return virtual
    }

    @Test func allAreStartedAtOnceAndLeftAlone() {
        let virtual = running()
        #expect(virtual.supervision.deadline == nil)
        virtual.now += .seconds(1_000_000)
        #expect(virtual.actions() == [])
        #expect(virtual.supervision.outcome == nil && !virtual.supervision.isOver)
    }

    @Test(arguments: Supervision.Process.allCases)
    func aCrashIsFollowedByAnotherStartEverLater(process: Supervision.Process) throws {
        let virtual = running(5)
        for (number, delay) in [0.25, 0.5, 1, 2, 4, 8, 8, 8].enumerated() {
            #expect(virtual.end(process, by: .signal(number % 2 == 0 ? 9 : 11), after: .seconds(1)))
            let (time, actions) = try #require(virtual.wait())
            #expect(time == .seconds(delay))
            #expect(actions == [.start(process, isFirst: false)])
        }
    }

    /// As by SIGXFSZ, where a limit of the system lets it write no more.
    @Test(
        arguments: [Supervision.Process.capture, .sender],
        [ChildProcess.Exit.signal(25), .signal(4), .unknown]
    )
    func fiveEndsInTheSameWayEndAll(process: Supervision.Process, exit: ChildProcess.Exit) {
        let virtual = running()
        #expect(virtual.end(process, by: .signal(9), after: .seconds(1)))
        for _ in 1..<Supervision.mostRepeats {
            _ = virtual.wait()
            #expect(virtual.end(process, by: exit, after: .seconds(1)))
        }
        _ = virtual.wait()
        #expect(!virtual.end(process, by: exit, after: .seconds(1)))
        #expect(virtual.supervision.outcome == .givenUp(process, exit))
        #expect(virtual.actions() == [.terminate(process == .capture ? .sender : .sound)])
    }

    @Test(arguments: [Supervision.Process.sound, .recorder, .nearby])
    func optionalProcessesAreGivenUpByNobodyAndNotToldOfForEver(process: Supervision.Process) {
        let virtual = running(5)
        for number in 1...20 {
            #expect(virtual.end(process, by: .signal(25), after: .seconds(1)) == (number < Supervision.mostRepeats))
            #expect(virtual.wait()?.1 == [.start(process, isFirst: false)])
        }
        #expect(virtual.supervision.outcome == nil)
    }

    @Test func aProcessThatRanForLongIsStartedAgainWithoutMuchDelay() throws {
        let virtual = running()
        for _ in 0..<4 {
            #expect(virtual.end(.sender, by: .signal(11), after: .seconds(1)))
            _ = virtual.wait()
        }
        #expect(virtual.end(.sender, by: .signal(11), after: .seconds(10)))
        #expect(try #require(virtual.wait()).0 == .milliseconds(250))
    }

    /// What cannot work at all says so at once: a wrong display, a port that is taken.
    @Test(arguments: [Supervision.Process.capture, .sender], [Int32(1), 64, 69])
    func aFirstRunThatFailsEndsAll(process: Supervision.Process, code: Int32) {
        let virtual = running()
        #expect(!virtual.end(process, by: .code(code), after: .seconds(9.999)))
        #expect(virtual.supervision.outcome == .failed(code))
        #expect(virtual.actions() == [.terminate(process == .capture ? .sender : .sound)])
        virtual.supervision.end()
        #expect(virtual.supervision.outcome == .failed(code), "the first cause counts")
    }

    @Test func aFirstRunThatFailsAfterItWorkedIsRepeated() {
        let virtual = running()
        #expect(virtual.end(.capture, by: .code(1), after: .seconds(10)))
    }

    @Test func threeFailuresInARowAfterACrashEndAll() {
        let virtual = running()
        #expect(virtual.end(.sender, by: .signal(9), after: .seconds(1)))
        for isLast in [false, false, true] {
            _ = virtual.wait()
            #expect(virtual.end(.sender, by: .code(69), after: .seconds(1)) == !isLast)
        }
        #expect(virtual.supervision.outcome == .failed(69))
    }

    /// By a signal a process does not say that it cannot work; nor where somebody else took the news.
    @Test func crashesAreNoFailuresAndALongRunForgivesThem() {
        let virtual = running()
        for exit in [ChildProcess.Exit.signal(9), .code(1), .unknown, .code(1), .signal(6), .signal(6)] {
            #expect(virtual.end(.sender, by: exit, after: .seconds(1)))
            _ = virtual.wait()
        }
        #expect(virtual.end(.sender, by: .code(1), after: .seconds(10)))
        for _ in 0..<2 {
            _ = virtual.wait()
            #expect(virtual.end(.sender, by: .code(1), after: .seconds(1)))
        }
    }

    @Test func theProcessesAreJudgedApart() throws {
        let virtual = running()
        #expect(virtual.end(.capture, by: .signal(9), after: .seconds(1)))
        #expect(virtual.end(.sender, by: .signal(9), after: .milliseconds(100)))
        #expect(try #require(virtual.wait()) == (.milliseconds(150), [.start(.capture, isFirst: false)]))
        #expect(try #require(virtual.wait()) == (.milliseconds(100), [.start(.sender, isFirst: false)]))
    }

    @Test(arguments: [Supervision.Process.capture, .sender])
    func whoHasDoneItsWorkEndsTheOthers(process: Supervision.Process) {
        let virtual = running()
        #expect(!virtual.end(process, by: .code(0), after: .seconds(1)))
        #expect(virtual.supervision.outcome == .done)
        for other in [Supervision.Process.sender, .sound, .capture] where other != process {
            #expect(virtual.actions() == [.terminate(other)])
            #expect(!virtual.supervision.isOver)
            #expect(!virtual.end(other, by: .code(1), after: .seconds(1)))
        }
        #expect(virtual.actions() == [])
        #expect(virtual.supervision.isOver && virtual.supervision.outcome == .done, "the first cause counts")
    }

    /// The sender says goodbye while there is still a picture.
    @Test func aSignalEndsTheSenderThenTheSoundAndThenTheCapture() {
        let virtual = running()
        virtual.supervision.end()
        #expect(virtual.actions() == [.terminate(.sender)])
        virtual.supervision.end()
        #expect(virtual.actions() == [], "another signal changes nothing")
        #expect(!virtual.end(.sender, by: .code(0), after: .seconds(1)))
        #expect(virtual.actions() == [.terminate(.sound)])
        #expect(!virtual.end(.sound, by: .code(0), after: .seconds(1)))
        #expect(virtual.actions() == [.terminate(.capture)])
        #expect(!virtual.end(.capture, by: .code(0), after: .seconds(1)))
        #expect(virtual.actions() == [])
        #expect(virtual.supervision.isOver && virtual.supervision.deadline == nil)
    }

    @Test func whatDoesNotEndIsKilledAndWhatIsNotKilledIsGivenUp() throws {
        let virtual = running()
        virtual.supervision.end()
        _ = virtual.actions()
        #expect(try #require(virtual.wait()) == (.seconds(3), [.kill(.sender)]))
        #expect(!virtual.end(.sender, by: .signal(9), after: .milliseconds(1)))
        #expect(virtual.actions() == [.terminate(.sound)])
        #expect(!virtual.end(.sound, by: .code(0), after: .milliseconds(1)))
        #expect(virtual.actions() == [.terminate(.capture)])
        #expect(try #require(virtual.wait()) == (.seconds(3), [.kill(.capture)]))
        #expect(try #require(virtual.wait()) == (.seconds(3), []))
        #expect(virtual.supervision.isOver)
    }

    @Test func whatWaitsForItsStartIsNotStartedAtTheEnd() {
        let virtual = running()
        #expect(virtual.end(.sender, by: .signal(9), after: .seconds(1)))
        virtual.supervision.end()
        #expect(virtual.actions() == [.terminate(.sound)])
        #expect(!virtual.end(.sound, by: .code(0), after: .seconds(1)))
        #expect(virtual.actions() == [.terminate(.capture)])
        #expect(!virtual.end(.capture, by: .code(0), after: .seconds(1)))
        #expect(virtual.actions() == [] && virtual.supervision.isOver)
    }

    @Test(arguments: [Supervision.Process.capture, .sender])
    func whatCannotBeStartedEndsAll(process: Supervision.Process) {
        let virtual = Virtual(3)
        var action = virtual.supervision.nextAction(at: virtual.now)
        if process == .sender { action = virtual.supervision.nextAction(at: virtual.now) }
        #expect(action == .start(process, isFirst: true))
        virtual.supervision.noteFailedStart(of: process)
        #expect(virtual.actions() == (process == .sender ? [.terminate(.capture)] : []))
        #expect(virtual.supervision.outcome == .failed(1))
        #expect(virtual.supervision.isOver == (process == .capture))
    }

    /// The recorder ends its file while pictures still come.
    @Test func aSignalEndsTheRecorderFirst() {
        let virtual = running(4)
        virtual.supervision.end()
        for process in [Supervision.Process.recorder, .sender, .sound, .capture] {
            #expect(virtual.actions() == [.terminate(process)])
            #expect(!virtual.end(process, by: .code(0), after: .seconds(1)))
        }
        #expect(virtual.actions() == [] && virtual.supervision.isOver)
    }

    /// A broadcast without sound or recording is better than none.
    @Test(arguments: [Supervision.Process.sound, .recorder])
    func soundAndRecordingEndNothing(process: Supervision.Process) throws {
        let virtual = running(4)
        for number in 1...20 {
            let isTold = virtual.end(process, by: .code(number == 1 ? 69 : 1), after: .seconds(1))
            #expect(isTold == (number <= Supervision.mostFailures) && virtual.supervision.outcome == nil)
            let (time, actions) = try #require(virtual.wait())
            #expect(time <= Supervision.delays.upperBound && actions == [.start(process, isFirst: false)])
        }
        #expect(!virtual.end(process, by: .code(0), after: .seconds(1)), "it ends with the broadcast, which is told")
        #expect(try #require(virtual.wait()).1 == [.start(process, isFirst: false)])
        virtual.supervision.noteFailedStart(of: process)
        virtual.now += .seconds(1000)
        #expect(virtual.actions() == [] && virtual.supervision.outcome == nil)
        virtual.supervision.end()
        #expect(virtual.actions() == [.terminate(process == .recorder ? .sender : .recorder)])
    }
}
