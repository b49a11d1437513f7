package import Media
package import Time

extension AccessEngine {
    package enum LeaseAnswer: Equatable, Sendable {
        /// Until an instant.
        case extended(Instant)
        case tooOften(until: Instant)
        /// It has just ended.
        case over
        /// The participant may stay without one, or is not there.
        case none
    }

    /// Begins the lease of a participant that has just come.
    ///
    /// - Parameters:
    ///   - wish: the seconds for which it asks; nil if it does not ask.
    ///   - asleep: the time that the machine has spent in suspends so far.
    /// - Returns: its seconds; nil if it may stay as long as it likes.
    package mutating func beginLease(
        of id: ParticipantID,
        wish: Int?,
        asleep: Duration = .zero,
        at now: Instant
    ) -> Int? {
        guard bearers[id] != nil, let seconds = wish.map(capped) ?? leaseSeconds else { return nil }
        let lease = Lease(.seconds(seconds), asleep: asleep, at: now)
        bearers[id]?.lease = lease
        note(deadline: lease.deadline)
        return seconds
    }

    /// - Parameters:
    ///   - seconds: from now on, within `Lease.lengths`. A lease is never made shorter.
    ///   - asleep: the time that the machine has spent in suspends so far.
    package mutating func extendLease(
        of id: ParticipantID,
        seconds: Int,
        asleep: Duration = .zero,
        at now: Instant
    ) -> LeaseAnswer {
        guard var lease = bearers[id]?.lease else { return .none }
        lease.noteSleep(asleep)
        guard now < lease.end else { return .over }
        guard let end = lease.extend(by: .seconds(capped(seconds)), asleep: asleep, at: now) else {
            return .tooOften(until: lease.nextExtension)
        }
        bearers[id]?.lease = lease
        note(deadline: lease.deadline)
        return .extended(end)
    }

    /// The end of a participant's lease; nil without one.
    package func leaseEnd(of id: ParticipantID) -> Instant? { bearers[id]?.lease?.end }

    /// The machine was suspended. That counts, though this clock stood still.
    ///
    /// - Parameter asleep: the time that it has spent in suspends so far.
    package mutating func noteSleep(_ asleep: Duration) {
        let time = asleep - self.asleep
        if time > .zero { self.asleep = asleep }
        for id in bearers.keys {
            bearers[id]?.lease?.noteSleep(asleep)
            if time > .zero, let idleEnd = bearers[id]?.idleEnd { bearers[id]?.idleEnd = idleEnd - time }
            note(deadline: bearers[id]?.deadline)
        }
        note(deadline: invites.firstEnd.map { $0 - self.asleep })
    }

    mutating func warnOfEnds(at now: Instant) {
        for id in bearers.keys.sorted() where bearers[id]?.lease?.takeWarning(at: now) ?? false {
            tell(.leaseEnding(id))
        }
    }

    /// No longer than the lease that is set for all.
    private func capped(_ seconds: Int) -> Int { min(seconds, leaseSeconds ?? Lease.lengths.upperBound) }
}
