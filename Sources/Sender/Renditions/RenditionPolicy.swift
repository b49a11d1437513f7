package import Media
package import Time

/// Decides which renditions are encoded: those that somebody wants, but for a time after the encoder of one has failed. A
/// rendition has one encode at a time: sinks never get a frame of an earlier one after the first of the next.
/// Sans-IO: instants come from outside.
package struct RenditionPolicy {
    package enum Decision: Equatable {
        case begin(Rendition.ID)
        case end(Rendition.ID)
    }

    private enum State {
        case idle
        case running(since: Instant)
        /// Nobody wants it any more; its last frame may be on the way to the sinks.
        case ending
        /// Its encoder failed.
        case resting(until: Instant)
    }

    /// How long a rendition rests after its encoder has failed.
    private static let rests = Backoff(.seconds(1)...(.seconds(32)))
    /// An encoder that has worked for so long is taken to be sound: its failures before are forgotten.
    static let soundTime = Duration.seconds(60)

    private let order: [Rendition.ID]
    private var states: [Rendition.ID: State] = [:]
    private var rests: [Rendition.ID: Backoff] = [:]

    /// - Parameter renditions: all that may be encoded.
    package init(_ renditions: [Rendition]) { order = renditions.map(\.id) }

    /// What to begin and what to end now.
    ///
    /// - Parameter wanted: the renditions that somebody receives.
    package mutating func decide(wanted: Set<Rendition.ID>, at now: Instant) -> [Decision] {
        var decisions: [Decision] = []
        for id in order {
            switch states[id] ?? .idle {
            case .running where !wanted.contains(id):
                states[id] = .ending
                decisions.append(.end(id))
            case .resting(let end) where now < end: break
            case .idle where wanted.contains(id), .resting where wanted.contains(id):
                states[id] = .running(since: now)
                decisions.append(.begin(id))
            // The rest is over, and no sink wants the rendition.
            case .resting: states[id] = .idle
            case .idle, .running, .ending: break
            }
        }
        return decisions
    }

    /// The encode of a rendition that nobody wanted any more gives no more frames.
    package mutating func noteEnd(of id: Rendition.ID) { states[id] = .idle }

    /// Whether any rendition is encoded.
    package var isRunning: Bool {
        states.values.contains { state in if case .running = state { true } else { false } }
    }

    /// The encoder of a rendition has failed. Returns for how long it rests.
    @discardableResult
    package mutating func noteFailure(of id: Rendition.ID, at now: Instant) -> Duration {
        if case .running(let since) = states[id], now >= since + Self.soundTime { rests[id]?.succeed() }
        let rest = rests[id, default: Self.rests].fail()
        states[id] = .resting(until: now + rest)
        return rest
    }

    /// When the next rest ends; nil if none rests. Decide again then.
    package var nextDeadline: Instant? {
        states.values.compactMap { state in if case .resting(let end) = state { end } else { nil } }.min()
    }
}
