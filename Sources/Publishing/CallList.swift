import Calls
import Control
import Helpers
import Time

/// Which calls a sender has, and how each is. Of those that have ended it knows the latest.
struct CallList {
    struct Entry {
        /// Calls have numbers of their own, from 1: one may end and be begun again.
        let number: Int
        let call: CallPlan
        fileprivate(set) var state = SenderSnapshot.Call.State.joining
        /// Why it is away, or has ended; nil if it was left.
        fileprivate(set) var reason: String?
        /// Nil before its end.
        fileprivate(set) var exitCode: Int32?
        /// When it came to be so.
        fileprivate(set) var since: Instant

        var isOver: Bool { state == .ended }
    }

    static let most = 32
    /// How many that have ended are told of.
    private static let mostEnded = 8

    private(set) var entries: [Entry] = []
    /// Why the call that ended last did; nil if it was left.
    private(set) var failure: CallEnd?
    private var lastNumber = 0

    /// Whether it had calls, and has none any more.
    var areOver: Bool { !entries.isEmpty && entries.allSatisfy(\.isOver) }

    /// The number of a call that is not over.
    func number(of call: CallPlan) -> Int? { entries.first { $0.call == call && !$0.isOver }?.number }

    func isOver(_ number: Int) -> Bool { entries.first { $0.number == number }?.isOver ?? true }

    /// - Returns: the number of the call.
    /// - Throws: if it is there already, or too many are.
    mutating func begin(_ call: CallPlan, at now: Instant) throws(Failure) -> Int {
        guard number(of: call) == nil else {
            throw Failure(.failed, "\(call) is a call of this sender already")
        }
        guard entries.count(where: { !$0.isOver }) < Self.most else {
            throw Failure(.tryAgain, "the sender has \(Self.most) calls, the most that it takes: leave one")
        }
        entries.removeAll { $0.call == call }
        lastNumber += 1
        entries.append(Entry(number: lastNumber, call: call, since: now))
        return lastNumber
    }

    /// Takes note of what a call tells. What is over stays so.
    ///
    /// - Returns: whether the call is different now.
    @discardableResult
    mutating func note(_ event: CallReport.Event, of number: Int, at now: Instant) -> Bool {
        guard let index = entries.firstIndex(where: { $0.number == number }), !entries[index].isOver else {
            return false
        }
        var entry = entries[index]
        switch event {
        case .standing: (entry.state, entry.reason) = (.standing, nil)
        case .away(let why, _): (entry.state, entry.reason) = (.away, why)
        case .ended(let end):
            (entry.state, entry.reason, entry.exitCode) = (.ended, end?.description, end?.kind.rawValue ?? 0)
            failure = end
        case .joined, .left, .refused, .remark: return false
        }
        if (entry.state, entry.reason) == (entries[index].state, entries[index].reason) { return false }
        entry.since = now
        entries[index] = entry
        let ended = entries.filter(\.isOver).sorted { $0.since < $1.since }
        let forgotten = Set(ended.dropLast(Self.mostEnded).map(\.number))
        entries.removeAll { forgotten.contains($0.number) }
        return true
    }
}

extension SenderSnapshot.Call {
    init(_ entry: CallList.Entry, at now: Instant) {
        let seconds = milliseconds(now - entry.since) / 1000
        self.init(
            name: "\(entry.call)",
            state: entry.state,
            sinceS: seconds,
            reason: entry.reason,
            exitCode: entry.exitCode
        )
    }
}
