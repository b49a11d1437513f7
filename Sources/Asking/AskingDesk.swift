import Access
import Control
import Glibc
import Helpers
import JSON
import Posix
import Time

/// The questions that are open, at the terminal and by notifications, and the viewers that will be known.
///
/// It is a process beside a sender, which has neither network nor broadcast. It writes only the file of known viewers. The programs that it
/// starts write nothing. Both read only the files of the system and of these programs.
package final class AskingDesk {
    /// The longest line that is read, in bytes: a sender may have been taken over.
    private static let longestLine = 16384
    /// How often the terminal is checked while a viewer waits and another program has the foreground.
    private static let lookInterval = Duration.seconds(1)
    /// How long notifications may take to go.
    private static let farewellTime = Duration.milliseconds(500)
    private static let reapInterval = Duration.milliseconds(100)

    private let terminal: Terminal?
    private let notifySend: NotifySend
    private let tell: (SenderRequest) -> Void
    private var questions = Questions()
    /// One that is over stays until its program has ended.
    private var notifications: [Notification] = []
    /// Viewers answered with "always", by their numbers, until the sender says that they are let in.
    private var always: [Int: Question.Knock] = [:]
    private var waiting: [Int: Question.Knock] = [:]

    /// Runs the process. Questions come from standard input, and it ends with that; answers go to standard output.
    ///
    /// - Parameter terminalGroup: the process group whose terminal it may read; nil for none.
    package static func run(terminalGroup: Int32?) throws {
        let signals = try TerminationSignals()
        let input = FileDescriptor(taking: try check("dup") { fcntl(0, F_DUPFD_CLOEXEC, 3) })
        try check("fcntl") { fcntl(input.raw, F_SETFL, O_NONBLOCK) }
        var lines = LineReader(longest: longestLine)
        let notifySend = try NotifySend()
        let desk = AskingDesk(terminalGroup.flatMap { Terminal(ofGroup: $0) }, notifySend) { request in
            if let line = try? request.jsonLine() { try? write(line + "\n", to: 1) }
        }
        // The sender has said what the kernel does not offer.
        var sandbox = Sandbox(
            writable: (try? GuestStore())?.makeFolder(),
            readable: notifySend.files,
            socketFamilies: [AF_UNIX]
        )
        sandbox.startsPrograms = true
        try enterSandbox { _ throws(SystemError) in try sandbox.enter { _ in } }
        while !signals.take(), !lines.hasEnded, !lines.isTooLong {
            guard let questions = try? lines.read(from: input.raw, limit: 65_536) else { break }
            // Malformed lines are left out.
            for question in questions.compactMap({ try? Question(jsonLine: $0) }) { desk.take(question) }
            let deadline = desk.turn(at: MonotonicClock.now())
            let descriptors = [input.raw, signals.descriptor.raw] + desk.descriptors
            waitReadable(descriptors.span, until: deadline)
        }
        desk.close()
    }

    private init(_ terminal: Terminal?, _ notifySend: NotifySend, tell: @escaping (SenderRequest) -> Void) {
        (self.terminal, self.notifySend, self.tell) = (terminal, notifySend, tell)
    }

    /// What may have news: the terminal only while a question is open there.
    private var descriptors: [Int32] {
        let reads = questions.isOpen && terminal?.isInForeground ?? false
        return notifications.filter { !$0.isOver }.map(\.descriptor) + (reads ? [terminal!.raw] : [])
    }

    private func take(_ question: Question) {
        if terminal != nil { questions.take(question) }
        switch question {
        case .knocked(let knock):
            waiting[knock.id] = knock
            if NotifySend.isPossible, let notification = Notification(knock, by: notifySend) {
                notifications.append(notification)
            }
        case .answered(let id, let isAccepted):
            waiting[id] = nil
            for notification in notifications where notification.knock == id { notification.close() }
            if let knock = always.removeValue(forKey: id), isAccepted { remember(knock) }
        }
    }

    /// Does what is to be done now. Returns when to come again.
    private func turn(at now: Instant) -> Instant? {
        for notification in notifications where !notification.isOver {
            if let verdict = notification.take() { answer(notification.knock, verdict) }
        }
        notifications.removeAll { $0.isOver && $0.hasEnded }
        let reaping = notifications.contains(where: \.isOver) ? now + Self.reapInterval : nil
        guard let terminal, !terminal.isOver, questions.isOpen || questions.isDue else { return reaping }
        guard terminal.isInForeground else { return earliest(reaping, now + Self.lookInterval) }
        if questions.isOpen {
            for line in terminal.read() { act(on: questions.typed(line, now: now)) }
            if terminal.isOver {
                Console.note("the terminal's input has ended: answer with oriel accept or oriel reject")
                return reaping
            }
        }
        if questions.isDue {
            terminal.forget()
            if let text = questions.show(now: now) { Console.note(text) }
        }
        return earliest(reaping, now + Self.lookInterval)
    }

    private func close() {
        for notification in notifications { notification.close() }
        let deadline: Instant = MonotonicClock.now() + Self.farewellTime
        while MonotonicClock.now() < deadline, !notifications.allSatisfy(\.hasEnded) {
            MonotonicClock.sleep(for: .milliseconds(5))
        }
    }

    private func act(on output: Questions.Output?) {
        switch output {
        case .say(let text): Console.note(text)
        case .answer(let id, let verdict): answer(id, verdict)
        case nil: break
        }
    }

    private func answer(_ id: Int, _ verdict: Verdict) {
        if verdict == .acceptAlways { always[id] = waiting[id] }
        tell(verdict == .reject ? .reject(knock: id) : .accept(knock: id))
    }

    private func remember(_ knock: Question.Knock) {
        guard let key = knock.key.flatMap({ GuestKey(rawValue: $0) }) else {
            return Console.note("\(knock.who) is let in this once only: a player cannot be recognized later")
        }
        do { try GuestStore().remember(key, name: knock.name) } catch { Console.note("\(error)") }
    }
}
