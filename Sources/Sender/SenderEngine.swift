import FrameBridge
import Media
import Time
import VideoEncoding

/// Decides the work of a sender: which renditions are encoded, when the broadcast is checked, and which news sinks and
/// people get. Sans-IO: instants come from outside.
struct SenderEngine {
    /// The work, in this order.
    enum Action: Equatable {
        case begin(Rendition)
        case end(Rendition.ID)
        /// Name the preferred rendition of its rung to the sinks.
        case prefer(Rendition)
        /// Report the broadcast's condition to the sinks.
        case note(BroadcastCondition)
        /// Show a sentence to a person.
        case tell(String)
        case reportStatistics
        /// The broadcast has ended.
        case finish
    }

    /// The longest time between two checks of the broadcast: no event reports a stalled capture process.
    static let livenessInterval = Duration.seconds(1)
    /// The longest time between two checks if no event reports the capture process's death either.
    static let unwatchedInterval = Duration.milliseconds(350)
    static let reportInterval = Duration.seconds(1)

    private let renditions: [Rendition]
    private let livenessInterval: Duration
    private var policy: RenditionPolicy
    private var lookAt: Instant
    private var reportAt: Instant
    private var liveness: Liveness?
    private var problem: BridgeError?
    private var preferredCodecs: [VideoCodec] = []

    /// - Parameters:
    ///   - renditions: those that sinks may want.
    ///   - isWatched: whether the bell rings at the capture process's death.
    init(_ renditions: [Rendition], isWatched: Bool, at now: Instant) {
        self.renditions = renditions
        livenessInterval = isWatched ? Self.livenessInterval : Self.unwatchedInterval
        policy = RenditionPolicy(renditions)
        lookAt = now
        reportAt = now + Self.reportInterval
    }

    // MARK: - Encodes

    /// Records that an ending encode gives no more frames.
    mutating func noteEnd(of id: Rendition.ID) { policy.noteEnd(of: id) }

    /// An encoder failed, and its encode has ended. Returns a sentence for people.
    ///
    /// - Parameter hasEncoded: whether any rendition gave a frame since the sender began.
    /// - Throws: the error, if none gave a frame and no other is encoded: further attempts would fail too.
    mutating func noteFailure(
        of id: Rendition.ID,
        _ error: VideoEncoderError,
        hasEncoded: Bool,
        at now: Instant
    ) throws(VideoEncoderError) -> String {
        let rest = policy.noteFailure(of: id, at: now)
        guard hasEncoded || policy.isRunning else { throw error }
        return "the encoder of \(name(id)) failed (\(error)): it is started again in \(rest.components.seconds) s"
    }

    /// An encode could not be started. Returns a sentence for people.
    mutating func noteNoBeginning(of id: Rendition.ID, _ error: any Error, at now: Instant) -> String {
        policy.noteFailure(of: id, at: now)
        return "\(name(id)) cannot be encoded: \(error)"
    }

    private func name(_ id: Rendition.ID) -> String { renditions.first { $0.id == id }!.codec.rawValue }

    // MARK: - Turns

    /// The work for the renditions, and once a second the statistics.
    ///
    /// - Parameters:
    ///   - wanted: the renditions with a receiver.
    ///   - readings: the encodes' last attempts to read the bridge.
    ///   - codecs: the preferred codec of each rung.
    mutating func turn(
        wanted: Set<Rendition.ID>,
        readings: [Encode.Reading],
        preferredCodecs codecs: [VideoCodec],
        at now: Instant
    ) -> [Action] {
        var actions = policy.decide(wanted: wanted, at: now)
        for (rung, codec) in codecs.enumerated()
        where codec != (rung < preferredCodecs.count ? preferredCodecs[rung] : .vp8) {
            let preferred = renditions.first { $0.codec == codec && $0.rung == rung }
            if let preferred { actions.append(.prefer(preferred)) }
        }
        preferredCodecs = codecs
        if let problem = newProblem(readings) { actions.append(.tell("\(problem)")) }
        if now >= reportAt {
            actions.append(.reportStatistics)
            // After a standstill the next report covers a second again.
            let next = reportAt + Self.reportInterval
            reportAt = next > now ? next : now + Self.reportInterval
        }
        return actions
    }

    /// A problem lasts until an encode reads the bridge without one. It is reported once, for all encodes.
    private mutating func newProblem(_ readings: [Encode.Reading]) -> BridgeError? {
        let found = readings.lazy.compactMap { if case .fails(let problem) = $0 { problem } else { nil } }.first
        if found == nil, !readings.contains(.works) { return nil }
        defer { problem = found }
        return found == problem ? nil : found
    }

    // MARK: - The broadcast

    /// Whether to check the broadcast now.
    ///
    /// - Parameter isRung: whether the bell has rung, maybe for the capture process's end.
    func mustLook(at now: Instant, isRung: Bool) -> Bool { isRung || now >= lookAt }

    /// The broadcast was checked. Returns the news.
    ///
    /// - Parameter found: its state; nil if it could not be read.
    mutating func noteLook(_ found: Liveness?, at now: Instant) -> [Action] {
        lookAt = now + livenessInterval
        guard let found, found != liveness else { return [] }
        let before = liveness
        liveness = found
        // A capture process lives for a moment after its goodbye: that is the same condition twice.
        let condition = BroadcastCondition(found)
        let note = before.map(BroadcastCondition.init) == condition ? [] : [Action.note(condition)]
        if found == .stopped { return note + [.finish] }
        return note + (Self.sentence(for: found, after: before).map { [.tell($0)] } ?? [])
    }

    private static func sentence(for found: Liveness, after before: Liveness?) -> String? {
        switch (before, found) {
        case (_, .dead): "the capture process died; the last picture stays until it is started again"
        case (_, .stalled): "the capture process has stalled; the last picture stays until it runs again"
        case (_, .live(.sourceLost)): "the source is not there; the last picture stays until it is back"
        case (_, .live(.paused)): "the broadcast is paused"
        case (_, .live(.error)): "the capture process cannot write new pictures; the last picture stays"
        case (.dead?, .live), (.stalled?, .live), (.live(.sourceLost)?, .live), (.live(.paused)?, .live),
            (.live(.error)?, .live):
            "the broadcast goes on"
        default: nil
        }
    }

    // MARK: - Time

    /// The latest instant of the next turn. No statistics are reported while nothing is encoded.
    var nextDeadline: Instant {
        let others = earliest(policy.nextDeadline, policy.isRunning ? reportAt : nil)
        return min(lookAt, others ?? lookAt)
    }
}

extension BroadcastCondition {
    /// The names are the same; a broadcast between two generations is active.
    init(_ liveness: Liveness) { self = BroadcastCondition(rawValue: liveness.name) ?? .active }
}
