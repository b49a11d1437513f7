import ArgumentParser
import FrameBridge
import Posix
import Sender
import Time

/// Which sender of a broadcast a command is for.
struct SenderChoice: ParsableArguments {
    @Option(
        name: .customLong("sender"),
        help: ArgumentHelp("Process of the sender, where several are attached.", valueName: "pid")
    )
    var pid: Int32?
}

/// The senders of a broadcast, as commands reach them.
struct Senders {
    private let broadcast: BridgeDirectory

    init(of broadcast: BridgeDirectory) { self.broadcast = broadcast }

    /// Asks all senders for their status. Senders that have ended meanwhile are left out.
    func reports() -> [(pid: Int32, report: Result<SenderStatus, SenderControlError>)] {
        let deadline: Instant = MonotonicClock.now() + SenderConnection.patience
        // All are asked before the first reply is awaited: a sender that hangs takes no time from the others.
        let asked = SenderFolder.all(in: broadcast).map { SenderConnection(to: $0, asking: .status, until: deadline) }
        return asked.compactMap { sender in
            do throws(SenderControlError) {
                guard case .status(let report) = try sender.reply(until: deadline) else {
                    throw .babbles(pid: sender.pid)
                }
                return (sender.pid, .success(report))
            } catch .gone {
                return nil
            } catch {
                return (sender.pid, .failure(error))
            }
        }
    }

    /// The only sender.
    func only() throws -> Int32 {
        let pids = SenderFolder.all(in: broadcast).map(\.pid)
        guard let pid = pids.first else { throw nobodyToAsk() }
        guard pids.count == 1 else {
            let choices = pids.sorted().map { "\($0)" }.joined(separator: " or ")
            throw Failure(.failed, "several senders are attached: say which by --sender \(choices)")
        }
        return pid
    }

    /// Asks one sender for its status.
    func report(of pid: Int32) throws -> SenderStatus {
        guard let folder = SenderFolder.all(in: broadcast).first(where: { $0.pid == pid }) else {
            throw nobodyToAsk(pid)
        }
        let deadline: Instant = MonotonicClock.now() + SenderConnection.patience
        let asked = SenderConnection(to: folder, asking: .status, until: deadline)
        guard case .status(let report) = try asked.reply(until: deadline) else {
            throw SenderControlError.babbles(pid: pid)
        }
        return report
    }

    /// Asks one sender, or all of them, for something, and waits for the replies.
    ///
    /// - Parameter pid: of the sender; nil for all senders.
    /// - Returns: whom the request let in, sent away or had forgotten, if that one can be known again.
    /// - Throws: the first error, once all have been asked. If `pid` is nil, senders that have ended meanwhile do not count.
    @discardableResult
    func ask(_ pid: Int32?, for request: SenderRequest) throws -> SenderReply.Visitor? {
        let folders = SenderFolder.all(in: broadcast).filter { pid == nil || $0.pid == pid }
        guard !folders.isEmpty else { throw nobodyToAsk(pid) }
        let deadline: Instant = MonotonicClock.now() + SenderConnection.patience
        let asked = folders.map { SenderConnection(to: $0, asking: request, until: deadline) }
        let results = asked.compactMap { sender -> Result<SenderReply.Visitor?, any Error>? in
            do {
                switch try sender.reply(until: deadline) {
                case .done(let visitor): return .success(visitor)
                case .refused(let reason): throw Failure(.failed, reason)
                case .status: throw SenderControlError.babbles(pid: sender.pid)
                }
            } catch SenderControlError.gone where pid == nil {
                return nil
            } catch {
                return .failure(error)
            }
        }
        guard !results.isEmpty else { throw nobodyToAsk() }
        return try results.map { try $0.get() }.compactMap(\.self).first
    }

    /// Has the senders of broadcasts forget somebody who comes in without asking.
    ///
    /// - Parameter name: nil for all.
    /// - Returns: whether one knew somebody of that name.
    /// - Throws: the first error, once all have been asked. Broadcasts without a sender do not count.
    static func forget(_ name: String?, in broadcasts: [BridgeDirectory]) throws -> Bool {
        let results = broadcasts.map { broadcast in
            Result { try Senders(of: broadcast).ask(nil, for: .forget(name: name)) != nil }
        }
        return try results.map { result in
            do { return try result.get() } catch let failure as Failure where failure.code == .tryAgain { return false }
        }.contains(true)
    }

    /// The one sender that has somebody. Each sender counts its own.
    ///
    /// - Parameters:
    ///   - somebody: whom, for people, such as `viewer 2`.
    ///   - does: what that one does, such as `looks in`.
    func holder(of somebody: String, who does: String, where has: (SenderStatus) -> Bool) throws -> Int32 {
        try holder(of: somebody, who: does, in: reports(), where: has)
    }

    private func holder(
        of somebody: String,
        who does: String,
        in reports: [(pid: Int32, report: Result<SenderStatus, SenderControlError>)],
        where has: (SenderStatus) -> Bool
    ) throws -> Int32 {
        guard !reports.isEmpty else { throw nobodyToAsk() }
        let holders = reports.filter { _, report in (try? report.get()).map(has) ?? false }
        if holders.count > 1 {
            let pids = holders.map { "\($0.pid)" }.joined(separator: " or ")
            throw Failure(.failed, "several senders have a \(somebody): say which by --sender \(pids)")
        }
        if let holder = holders.first { return holder.pid }
        for (_, report) in reports { _ = try report.get() }
        throw Failure(.failed, "no \(somebody) \(does) at \(broadcast.path): see \"oriel status\"")
    }

    /// The one sender that has a call which is not over.
    ///
    /// - Parameters:
    ///   - name: as people are told it.
    ///   - isTold: whether it can be told: what is no name of a call may be a secret.
    func holder(ofCall name: String, isTold: Bool) throws -> Int32 {
        func names(_ status: SenderStatus) -> [String] { status.calls.filter { $0.state != .ended }.map(\.name) }
        let reports = reports()
        let told = reports.compactMap { _, report in (try? report.get()).map(names) }
        let all = told.joined()
        // One that does not answer may have it.
        guard all.isEmpty || all.contains(name) || told.count < reports.count else {
            let (call, choices) = (isTold ? "call \(name)" : "such call", all.joined(separator: ", "))
            throw Failure(.failed, "no \(call) is there at \(broadcast.path), but \(choices)")
        }
        return try holder(of: isTold ? "call \(name)" : "such call", who: "is there", in: reports) {
            names($0).contains(name)
        }
    }

    func nobodyToAsk(_ pid: Int32? = nil) -> Failure {
        let name = pid.map { "no sender \($0)" } ?? "no sender"
        return Failure(.tryAgain, "\(name) is attached to the broadcast in \(broadcast.path)")
    }
}
