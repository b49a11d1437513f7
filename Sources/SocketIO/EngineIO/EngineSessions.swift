import HeapModule
import Time

/// The sessions of a server, with the credits, kept bytes and timer of each.
struct EngineSessions: Sendable {
    struct Entry: Sendable {
        fileprivate(set) var session: EngineSession
        let network: String
        /// Later sessions have higher numbers.
        let number: Int
        /// The one valid timer. It is no later than the session's deadline.
        fileprivate var timerAt: Instant?
        fileprivate var packets: CreditBudget
        fileprivate var quietPackets: CreditBudget
        /// Bytes that the session's user keeps for it.
        fileprivate var kept = 0
        /// Bytes kept for the session in all, at the last count.
        fileprivate(set) var keptInAll = 0
    }

    private struct Timer: Comparable, Sendable {
        var at: Instant
        var sid: String

        static func < (left: Timer, right: Timer) -> Bool { left.at < right.at }
    }

    private var entries: [String: Entry] = [:]
    /// The valid timer of each session, and outdated ones.
    private var timers = Heap<Timer>()
    private var lastNumber = 0
    /// Bytes kept for all sessions.
    private(set) var kept = 0

    var count: Int { entries.count }

    subscript(sid: String) -> Entry? { entries[sid] }

    mutating func add(_ session: EngineSession, from network: String, _ limits: EngineLimits, now: Instant) {
        lastNumber += 1
        entries[session.sid] = Entry(
            session: session,
            network: network,
            number: lastNumber,
            packets: CreditBudget(limits.packets, now: now),
            quietPackets: CreditBudget(limits.quietPackets, now: now)
        )
        setTimer(of: session.sid)
    }

    /// Returns the session's network; nil if there is no such session.
    mutating func remove(_ sid: String) -> String? {
        guard let entry = entries.removeValue(forKey: sid) else { return nil }
        kept -= entry.keptInAll
        return entry.network
    }

    /// Changes a session. Returns its outputs too; nil if there is no such session.
    mutating func change<Result>(
        _ sid: String,
        _ body: (inout EngineSession) -> Result
    ) -> (Result, [EngineSession.Output])? {
        guard let slot = entries.index(forKey: sid) else { return nil }
        // In place, so that waiting packets are not copied.
        let result = body(&entries.values[slot].session)
        let outputs = entries.values[slot].session.takeOutputs()
        countKept(at: slot)
        if let deadline = entries.values[slot].session.nextDeadline, let timer = entries.values[slot].timerAt,
            deadline < timer
        {
            setTimer(of: sid)
        }
        return (result, outputs)
    }

    // MARK: - Limits

    /// Takes credits of a session.
    ///
    /// - Returns: The credits that the session's network pays, and that network; nil if the session has too few.
    mutating func pay(_ cost: Double, by sid: String, now: Instant) -> (cost: Double, network: String)? {
        guard let slot = entries.index(forKey: sid), entries.values[slot].packets.take(cost, now: now) else {
            return nil
        }
        let isQuiet = entries.values[slot].quietPackets.take(cost, now: now)
        return (isQuiet ? 0 : cost, entries.values[slot].network)
    }

    /// Sets how many bytes a session's user keeps for it.
    mutating func setKept(_ bytes: Int, for sid: String) {
        guard let slot = entries.index(forKey: sid) else { return }
        entries.values[slot].kept = bytes
        countKept(at: slot)
    }

    private mutating func countKept(at slot: Dictionary<String, Entry>.Index) {
        let now = entries.values[slot].session.waitingSize + entries.values[slot].kept
        kept += now - entries.values[slot].keptInAll
        entries.values[slot].keptInAll = now
    }

    /// The session with the most kept bytes, of the network with the most.
    var greatest: String? {
        let kept = entries.values.reduce(into: [String: Int]()) { $0[$1.network, default: 0] += $1.keptInAll }
        guard let network = kept.max(by: { $0.value < $1.value })?.key else { return nil }
        return entries.filter { $0.value.network == network }.max { $0.value.keptInAll < $1.value.keptInAll }?.key
    }

    func newest(of network: String) -> String? {
        entries.filter { $0.value.network == network }.max { $0.value.number < $1.value.number }?.key
    }

    // MARK: - Time

    var nextDeadline: Instant? { timers.min?.at }

    /// A session whose timer is due; nil if there is none.
    mutating func takeDue(now: Instant) -> String? {
        while let timer = timers.min, timer.at <= now {
            timers.removeMin()
            if entries[timer.sid]?.timerAt == timer.at { return timer.sid }
        }
        return nil
    }

    /// Sets the valid timer to the session's deadline.
    mutating func setTimer(of sid: String) {
        guard let deadline = entries[sid]?.session.nextDeadline else { return }
        entries[sid]?.timerAt = deadline
        timers.insert(Timer(at: deadline, sid: sid))
    }
}
