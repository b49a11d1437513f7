import Calls
import Control
import Helpers
import Time

/// Which calls a sender has, and how each is. Of those that have ended it knows the latest.
struct CallList {
    enum State: Equatable {
        /// It has not been there yet.
        case joining
        case standing
        /// It was lost, or its server has no room yet, and is tried again.
        case away(why: String)
        /// It is over; nil if it was left.
        case ended(CallEnd?)
    }

    struct Entry {
        /// Calls have numbers of their own, from 1: one may end and be begun again.
        let number: Int
        let call: CallPlan
        fileprivate(set) var state: State
        /// When it came to be so.
        fileprivate(set) var since: Instant

        var isOver: Bool { if case .ended = state { true } else { false } }
    }

    /// How many calls a sender may have.
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

    /// Takes a call in.
    ///
    /// - Returns: its number.
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
        entries.append(Entry(number: lastNumber, call: call, state: .joining, since: now))
        return lastNumber
    }

    /// Takes note of how a call is. What is over stays so.
    ///
    /// - Returns: whether that is news.
    @discardableResult
    mutating func note(_ state: State, of number: Int, at now: Instant) -> Bool {
        guard let index = entries.firstIndex(where: { $0.number == number }), !entries[index].isOver,
            entries[index].state != state
        else { return false }
        (entries[index].state, entries[index].since) = (state, now)
        guard case .ended(let failure) = state else { return true }
        self.failure = failure
        let ended = entries.filter(\.isOver).sorted { $0.since < $1.since }
        let forgotten = Set(ended.dropLast(Self.mostEnded).map(\.number))
        entries.removeAll { forgotten.contains($0.number) }
        return true
    }
}

extension CallList.State {
    /// How a call is after what it has told; nil if that does not change it.
    init?(_ event: CallReport.Event) {
        switch event {
        case .standing: self = .standing
        case .away(let why, _): self = .away(why: why)
        case .ended(let end): self = .ended(end)
        case .joined, .left, .refused, .remark: return nil
        }
    }
}

extension SenderSnapshot.Call {
    init(_ entry: CallList.Entry, at now: Instant) {
        self.init(name: "\(entry.call)", state: .joining, sinceS: milliseconds(now - entry.since) / 1000)
        switch entry.state {
        case .joining: break
        case .standing: state = .standing
        case .away(let why): (state, reason) = (.away, why)
        case .ended(let end):
            (state, reason, exitCode) = (.ended, end?.description, end?.kind.rawValue ?? 0)
        }
    }
}
