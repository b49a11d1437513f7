import Access
import Media
import Posix
import Synchronization
import Time

extension WebCall {
    func viewer(of id: String) -> ParticipantID? { state.withLock { $0.sessions[id] }?.viewer.id }

    /// The viewer of a session has asked for something.
    func noteRequest(of id: String) {
        guard let viewer = viewer(of: id) else { return }
        access.change { $0.noteRequest(of: viewer, at: $1) }
    }

    /// The lease of a viewer's session.
    enum LeaseOutcome: Equatable {
        /// It ends after so many seconds.
        case lasts(Double)
        /// Seconds until another extension is possible.
        case tooOften(Int)
        /// The session may last as long as its viewer likes.
        case none
        case over
        case unknownViewer
    }

    /// - Parameters:
    ///   - id: the name of the session.
    ///   - seconds: for which it lasts from now on, within `Lease.lengths`; nil to ask only.
    func lease(of id: String, extendedBy seconds: Int?) -> LeaseOutcome {
        guard let viewer = state.withLock({ $0.sessions[id] })?.viewer.id else { return .unknownViewer }
        func rest(_ end: Instant, _ now: Instant) -> Double { max(0, (end - now) / .seconds(1)) }
        let asleep = MonotonicClock.suspendedTime()
        return access.change { engine, now in
            guard let seconds else { return engine.leaseEnd(of: viewer).map { .lasts(rest($0, now)) } ?? .none }
            return switch engine.extendLease(of: viewer, seconds: seconds, asleep: asleep, at: now) {
            case .extended(let end): .lasts(rest(end, now))
            case .tooOften(let until): .tooOften(Int(rest(until, now).rounded(.up)))
            case .over: .over
            case .none: .none
            }
        }
    }
}
