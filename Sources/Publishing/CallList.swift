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
        /// Its time in the state is `since` instead.
        fileprivate(set) var status: SenderSnapshot.Call
        /// When it came to be so.
        fileprivate(set) var since: Instant

        var isOver: Bool { status.state == .ended }
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
        let status = SenderSnapshot.Call(name: "\(call)", state: .joining, sinceS: 0)
        entries.append(Entry(number: lastNumber, call: call, status: status, since: now))
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
        let before = entries[index].status
        var status = before
        switch event {
        case .standing: (status.state, status.reason) = (.standing, nil)
        case .away(let why, _): (status.state, status.reason) = (.away, why)
        case .ended(let end):
            (status.state, status.reason, status.exitCode) = (.ended, end?.description, end?.kind.rawValue ?? 0)
            failure = end
        case .joined, .left, .refused, .clipBegan, .clipEnded, .remark: return false
        }
        if (status.state, status.reason) == (before.state, before.reason) { return false }
        (entries[index].status, entries[index].since) = (status, now)
        let ended = entries.filter(\.isOver).sorted { $0.since < $1.since }
        let forgotten = Set(ended.dropLast(Self.mostEnded).map(\.number))
        entries.removeAll { forgotten.contains($0.number) }
        return true
    }
}
