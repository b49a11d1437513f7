package import FrameBridge
import Posix
import Time

/// The senders of a broadcast, for commands.
package struct Senders {
    private let broadcast: BridgeDirectory

    package init(of broadcast: BridgeDirectory) { self.broadcast = broadcast }

    /// Asks all senders for their status. Senders that have ended meanwhile are left out.
    package func reports() -> [Snapshot.Sender] {
        let deadline: Instant = MonotonicClock.now() + SenderClient.patience
        // All are asked before the first reply is awaited. So a sender that hangs takes no time from the others.
        let asked = ProcessFolder.all(.sender, in: broadcast).map { folder in
            (folder.pid, SenderClient(to: folder, asking: .status, until: deadline))
        }
        return asked.compactMap { pid, sender in
            do throws(ControlError) {
                return Snapshot.Sender(pid: pid, .success(try sender.status(until: deadline)))
            } catch {
                return error == .gone(.sender(pid: pid)) ? nil : Snapshot.Sender(pid: pid, .failure(error))
            }
        }
    }

    package func only() throws(ControlError) -> Int32 {
        let pids = ProcessFolder.all(.sender, in: broadcast).map(\.pid)
        guard let pid = pids.first else { throw noSender() }
        guard pids.count == 1 else {
            let choices = pids.sorted().map { "\($0)" }.joined(separator: " or ")
            throw .notOneSender("several senders are attached: say which by --sender \(choices)")
        }
        return pid
    }

    package func report(of pid: Int32) throws(ControlError) -> SenderSnapshot {
        guard let folder = ProcessFolder.all(.sender, in: broadcast).first(where: { $0.pid == pid }) else {
            throw noSender(pid)
        }
        let deadline: Instant = MonotonicClock.now() + SenderClient.patience
        return try SenderClient(to: folder, asking: .status, until: deadline).status(until: deadline)
    }

    /// Sends a request to one sender, or to all of them, and waits for the replies.
    ///
    /// - Parameter pid: of the sender; nil for all senders.
    /// - Returns: the guest that the request let in, sent away or had forgotten; nil if it cannot be recognized later.
    /// - Throws: the first error, after all replies. If `pid` is nil, senders that have ended meanwhile do not count.
    @discardableResult
    package func ask(_ pid: Int32?, for request: SenderRequest) throws(ControlError) -> Visitor? {
        let folders = ProcessFolder.all(.sender, in: broadcast).filter { pid == nil || $0.pid == pid }
        guard !folders.isEmpty else { throw noSender(pid) }
        let deadline: Instant = MonotonicClock.now() + SenderClient.patience
        let asked = folders.map { SenderClient(to: $0, asking: request, until: deadline) }
        let results = asked.compactMap { sender -> Result<Visitor?, ControlError>? in
            do throws(ControlError) { return .success(try sender.done(until: deadline)) } catch {
                if case .gone = error, pid == nil { return nil }
                return .failure(error)
            }
        }
        guard !results.isEmpty else { throw noSender() }
        return try firstVisitor(results)
    }

    /// Has the senders of broadcasts forget a guest.
    ///
    /// - Parameter name: nil for all.
    /// - Returns: whether a sender had a guest of that name.
    /// - Throws: the first error, after all replies. Broadcasts without a sender do not count.
    package static func forget(_ name: String?, in broadcasts: [BridgeDirectory]) throws(ControlError) -> Bool {
        let results = broadcasts.map { broadcast -> Result<Visitor?, ControlError> in
            do throws(ControlError) {
                return .success(try Senders(of: broadcast).ask(nil, for: .forget(name: name)))
            } catch {
                if case .noSender = error { return .success(nil) }
                return .failure(error)
            }
        }
        return try firstVisitor(results) != nil
    }

    /// The only sender with a participant or knock of a number. Each sender counts its own.
    ///
    /// - Parameters:
    ///   - somebody: the participant or knock, for people, such as `viewer 2`.
    ///   - does: its verb, such as `looks in`.
    ///   - list: the command that lists such ones.
    ///   - reports: of all senders, if they have been asked already.
    package func holder(
        of somebody: String,
        who does: String,
        listedBy list: String = "status",
        in reports: [Snapshot.Sender]? = nil,
        where has: (SenderSnapshot) -> Bool
    ) throws(ControlError) -> Int32 {
        let reports = reports ?? self.reports()
        guard !reports.isEmpty else { throw noSender() }
        let holders = reports.filter { $0.report.map(has) ?? false }
        if holders.count > 1 {
            let pids = holders.map { "\($0.pid)" }.joined(separator: " or ")
            throw .notOneSender("several senders have a \(somebody): say which by --sender \(pids)")
        }
        if let holder = holders.first { return holder.pid }
        for sender in reports { _ = try sender.answer.get() }
        throw .notOneSender("no \(somebody) \(does) at \(broadcast.path): see \"oriel \(list)\"")
    }

    /// The only sender with a call that is not over.
    ///
    /// - Parameter isTold: whether messages may contain the name. A text that is not a call's name may be a secret.
    package func holder(ofCall name: String, isTold: Bool) throws(ControlError) -> Int32 {
        func names(_ status: SenderSnapshot) -> [String] { status.calls.filter { $0.state != .ended }.map(\.name) }
        let reports = reports()
        let told = reports.compactMap(\.report).map(names)
        let all = told.joined()
        // A sender that does not answer may have it.
        guard all.isEmpty || all.contains(name) || told.count < reports.count else {
            let (call, choices) = (isTold ? "call \(name)" : "such call", all.joined(separator: ", "))
            throw .notOneSender("the broadcast in \(broadcast.path) has no \(call), but \(choices)")
        }
        return try holder(of: isTold ? "call \(name)" : "such call", who: "is there", in: reports) {
            names($0).contains(name)
        }
    }

    private func noSender(_ pid: Int32? = nil) -> ControlError {
        .noSender(pid, path: broadcast.path, isBroadcast: (try? broadcast.hasWriter()) ?? true)
    }
}

/// - Throws: the first error.
private func firstVisitor(_ results: [Result<Visitor?, ControlError>]) throws(ControlError) -> Visitor? {
    try results.map { result throws(ControlError) in try result.get() }.lazy.compactMap(\.self).first
}
