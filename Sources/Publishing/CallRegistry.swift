import Access
import Calls
import Control
import Helpers
import Media
import Peers
import Posix
import Sender
import Synchronization
import Time

/// The calls of a running sender: each comes, is lost, comes back, is left or ends by itself. Any thread may ask. Close it once.
final class CallRegistry: Sendable {
    private struct State {
        var list = CallList()
        /// The calls that have begun by their numbers, until they are over: those that others run, until their servers know that.
        var calls: [Int: any Call] = [:]
        /// What calls have told that are just beginning, by their numbers: it is taken once they are among the others.
        var early: [Int: [CallReport]] = [:]
        var isClosed = false

        /// - Returns: nil if there is nothing more; later reports are not early then.
        mutating func takeEarly(of number: Int) -> [CallReport]? {
            let reports = early.removeValue(forKey: number) ?? []
            if reports.isEmpty { return nil }
            early[number] = []
            return reports
        }
    }

    /// How long servers get to hear that this side leaves.
    private static let farewellTime = Duration.milliseconds(500)

    private let network: CallNetwork
    private let kinds: CallKinds
    private let access: AccessControl
    private let events: EventLog
    let sinks: Sinks
    private let state = Mutex(State())
    private let hasEnded = Bell()

    /// - Parameter sinks: their bell is rung when the last call is over.
    init(_ network: CallNetwork, _ kinds: CallKinds, access: AccessControl, _ events: EventLog, sinks: Sinks) {
        (self.network, self.kinds, self.access) = (network, kinds, access)
        (self.events, self.sinks) = (events, sinks)
        network.onNetworkChange { [weak self] in for call in self?.running ?? [] { call.networkChanged() } }
        network.onSuspend { [weak self] time in for call in self?.running ?? [] { call.slept(for: time) } }
    }

    private var running: [any Call] { state.withLock { $0.calls.sorted { $0.key < $1.key }.map(\.value) } }

    // MARK: - Beginning

    /// Begins the calls of the start.
    ///
    /// - Parameter receiver: takes the picture of the other side; nil if that is not wanted.
    func begin(_ prepared: [(plan: CallPlan, begin: CallPlan.Begin)], receiver: (any FrameReceiver)? = nil) throws {
        let numbered = try state.withLock { state in
            try prepared.map { (try state.list.begin($0.plan, at: MonotonicClock.now()), $0.plan, $0.begin) }
        }
        // The threads that Landlock does not bind end before browsers or servers come.
        for isFirst in [true, false] {
            for (number, plan, begin) in numbered where plan.writesFiles == isFirst {
                try run(plan, number, begin, receiver)
            }
        }
    }

    /// Begins a call that a command asks for, by its name on a command line and what it needs beside that, by names.
    func begin(_ name: String, _ settings: [String: String] = [:]) throws {
        let plan = try kinds.plan(name)
        let begin = try plan.prepare(CallSettings(settings))
        let number = try state.withLock { try $0.list.begin(plan, at: MonotonicClock.now()) }
        // Names take seconds to be looked up.
        let start = { @Sendable [self] in
            do { try self.run(plan, number, begin, nil) } catch {
                take(.ended(CallEnd(describing: error)), of: plan, number)
            }
        }
        do { _ = try Thread(start) } catch { take(.ended(CallEnd(describing: error)), of: plan, number) }
    }

    private func run(
        _ plan: CallPlan,
        _ number: Int,
        _ begin: CallPlan.Begin,
        _ receiver: (any FrameReceiver)?
    ) throws {
        state.withLock { $0.early[number] = [] }
        let host = CallHost(name: "\(plan)", network, access: access, receiver: receiver) { [weak self] report in
            let isEarly = self?.state.withLock { $0.early[number]?.append(report) != nil } ?? true
            if !isEarly { self?.take(report, of: plan, number) }
        }
        let call: any Call
        do { call = try begin(host) } catch {
            state.withLock { $0.early[number] = nil }
            throw error
        }
        let isWanted = state.withLock { state in
            // It may have been left meanwhile.
            let isWanted = !state.isClosed && !state.list.isOver(number)
            if isWanted { state.calls[number] = call } else { state.early[number] = nil }
            return isWanted
        }
        if !isWanted { return call.close() }
        while let reports = state.withLock({ $0.takeEarly(of: number) }) {
            for report in reports { take(report, of: plan, number) }
        }
    }

    // MARK: - Ending

    /// Leaves a call. Its server hears of it a little later.
    ///
    /// - Parameter name: as on a command line, or as people are told it.
    func leave(named name: String) throws {
        let known = state.withLock { state in
            state.list.entries.last { !$0.isOver && ($0.call.argument == name || "\($0.call)" == name) }?.call
        }
        guard let call = known ?? (try? kinds.plan(name)) else {
            throw Failure(.failed, "no call of this sender has such a name: it has \(choices)")
        }
        try leave(call)
    }

    /// The calls that are not over, for people.
    private var choices: String {
        let names = names
        return names.isEmpty ? "none" : names.joined(separator: ", ")
    }

    private func leave(_ plan: CallPlan) throws {
        if let refusal = plan.refusalToLeave { throw Failure(.failed, refusal) }
        let choices = choices
        let call = try state.withLock { state in
            guard let number = state.list.number(of: plan) else {
                throw Failure(.failed, "\(plan) is no call of this sender: it has \(choices)")
            }
            state.list.note(.ended(nil), of: number, at: MonotonicClock.now())
            return state.calls[number]
        }
        call?.close()
        events.tell(CallEvent(CallReport(.ended(nil), "\(plan): left"), in: plan))
        if areOver { sinks.bell.ring() }
    }

    // MARK: - While they run

    private func take(_ report: CallReport, of call: CallPlan, _ number: Int) {
        if case .ended(let end) = report.event { return take(end, report, of: call, number) }
        events.tell(CallEvent(report, in: call))
        state.withLock { _ = $0.list.note(report.event, of: number, at: MonotonicClock.now()) }
    }

    private func take(_ end: CallEnd?, _ report: CallReport, of call: CallPlan, _ number: Int) {
        let (isNews, isLast) = state.withLock { state in
            state.calls[number] = nil
            let isNews = state.list.note(.ended(end), of: number, at: MonotonicClock.now())
            return (isNews, state.list.areOver)
        }
        // The sentence of the last one is the sender's.
        if isNews { events.tell(CallEvent(isLast ? CallReport(report.event) : report, in: call)) }
        hasEnded.ring()
        if isLast { sinks.bell.ring() }
    }

    var areOver: Bool { state.withLock(\.list.areOver) }

    /// Why the last one has ended; nil if it was left.
    var failure: CallEnd? { state.withLock(\.list.failure) }

    /// The calls that are not over, as people name them.
    var names: [String] { state.withLock { $0.list.entries.filter { !$0.isOver }.map { "\($0.call)" } } }

    /// What was sent past the peers, of each call that does.
    var sent: [PlainRTPStatistics] { running.compactMap(\.sent) }

    var participants: Participants { network.participants }

    /// The peers of all calls; nil while there was no call that could have one.
    var peers: PeerGroup? { network.begun }

    /// The STUN and TURN servers that do not work, as far as is known.
    var serverFaults: [ServerNews] { network.serverFaults(of: names) }

    /// How each is, those that have ended lately among them.
    func statuses(at now: Instant) -> [SenderSnapshot.Call] {
        let (entries, calls) = state.withLock { ($0.list.entries, $0.calls) }
        return entries.map { entry in
            var status = entry.status
            status.sinceS = milliseconds(now - entry.since) / 1000
            guard !entry.isOver, let call = calls[entry.number] else { return status }
            status.sdp = call.sdp
            if let trouble = call.trouble { (status.state, status.reason) = (.away, trouble) }
            return status
        }
    }

    // MARK: - The end

    /// Leaves all calls; gives servers a moment to hear of it. Nobody is let in any more.
    func close() {
        let calls = state.withLock { state in
            state.isClosed = true
            return state.calls.sorted { $0.key < $1.key }.map(\.value)
        }
        for call in calls where !call.saysGoodbye { call.close() }
        access.close()
        for call in calls where call.saysGoodbye { call.close() }
        hasEnded.wait(until: MonotonicClock.now() + Self.farewellTime) { !running.contains(where: \.saysGoodbye) }
        network.close()
    }
}

extension CallEnd {
    /// Why a call could not begin.
    fileprivate init(describing error: any Error) {
        self = error as? CallEnd ?? CallEnd(.failed, Failure(describing: error)?.sentence ?? "\(error)")
    }
}
