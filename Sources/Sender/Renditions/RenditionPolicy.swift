import Media
import Time

/// Decides which renditions are encoded: those with a receiver, except for a time after a failure of their encoder. A
/// rendition has one encode at a time: sinks never get a frame of an earlier one after the first of the next. Sans-IO:
/// instants come from outside.
struct RenditionPolicy {
    private enum State {
        case idle
        case running(since: Instant)
        /// It has no receiver any more. Its last frame may be on the way to the sinks.
        case ending
        case resting(until: Instant)
    }

    /// The rest of a rendition after a failure of its encoder.
    private static let rests = Backoff(.seconds(1)...(.seconds(32)))
    /// After this long without a failure, an encoder's earlier failures are forgotten.
    static let soundTime = Duration.seconds(60)

    private let renditions: [Rendition]
    private var states: [Rendition.ID: State] = [:]
    private var rests: [Rendition.ID: Backoff] = [:]

    /// - Parameter renditions: all that may be encoded.
    init(_ renditions: [Rendition]) { self.renditions = renditions }

    /// The renditions to begin and to end now.
    ///
    /// - Parameter wanted: the renditions with a receiver.
    mutating func decide(wanted: Set<Rendition.ID>, at now: Instant) -> [SenderEngine.Action] {
        var decisions: [SenderEngine.Action] = []
        for rendition in renditions {
            let id = rendition.id
            switch states[id] ?? .idle {
            case .running where !wanted.contains(id):
                states[id] = .ending
                decisions.append(.end(id))
            case .resting(let end) where now < end: break
            case .idle where wanted.contains(id), .resting where wanted.contains(id):
                states[id] = .running(since: now)
                decisions.append(.begin(rendition))
            // The rest is over, and no sink wants the rendition.
            case .resting: states[id] = .idle
            case .idle, .running, .ending: break
            }
        }
        return decisions
    }

    /// Records that an ending encode gives no more frames.
    mutating func noteEnd(of id: Rendition.ID) { states[id] = .idle }

    var isRunning: Bool {
        states.values.contains { state in if case .running = state { true } else { false } }
    }

    /// Records that a rendition's encoder has failed. Returns the time of its rest.
    @discardableResult
    mutating func noteFailure(of id: Rendition.ID, at now: Instant) -> Duration {
        if case .running(let since) = states[id], now >= since + Self.soundTime { rests[id]?.succeed() }
        let rest = rests[id, default: Self.rests].fail()
        states[id] = .resting(until: now + rest)
        return rest
    }

    /// The end of the next rest; nil if none rests. Decide again then.
    var nextDeadline: Instant? {
        states.values.compactMap { state in if case .resting(let end) = state { end } else { nil } }.min()
    }
}
