package import FrameBridge
package import Media
package import Posix
import Time
package import VideoEncoding

/// The sender's own thread: begins and ends the encodes of renditions as sinks want them, and tells how the broadcast is.
package struct SenderLoop: ~Copyable {
    /// How the loop ended.
    package enum End: Equatable { case interrupted, broadcastStopped }

    /// The longest sleep, after which to see whether the capture process gets to run.
    private static let livenessInterval = Duration.seconds(1)
    /// The same where nothing tells of its death.
    private static let unwatchedInterval = Duration.milliseconds(350)
    /// How long encodes get for their last frame when the sender ends.
    private static let farewellTime = Duration.seconds(1)

    private let renditions: [Rendition]
    private let settings: SenderSettings
    private let sinks: Sinks
    private let report: (String) -> Void
    private let preference: SharedPreference
    private var reader: FrameReader
    private var policy: RenditionPolicy
    private var encodes: [Encode] = []
    /// Encodes that nobody wants any more, until they have ended.
    private var leaving: [Encode] = []
    /// What the encodes have done that are gone.
    private var departed = SenderStatistics()
    private var preferred = VideoCodec.vp8
    private var livenessInterval = Self.livenessInterval
    private var livenessAt: Instant?
    private var liveness: Liveness?
    private var problem: BridgeError?

    /// - Parameter renditions: those that sinks may want; one at least, all of one frame rate.
    package init(
        _ renditions: [Rendition],
        _ settings: SenderSettings,
        reader: consuming FrameReader,
        sinks: Sinks,
        report: @escaping (String) -> Void
    ) {
        self.renditions = renditions
        self.settings = settings
        self.reader = reader
        self.sinks = sinks
        self.report = report
        preference = SharedPreference(interval: renditions[0].interval)
        policy = RenditionPolicy(renditions)
    }

    /// Runs until a signal comes or the broadcast says `stopped`.
    ///
    /// - Parameter eachSecond: gets the statistics about once a second.
    /// - Throws: the encoder's error, if no rendition could be encoded ever.
    package mutating func run(
        until signals: borrowing TerminationSignals,
        eachSecond: (SenderStatistics) -> Void
    ) throws(VideoEncoderError) -> End {
        var reportAt: Instant = MonotonicClock.now() + .seconds(1)
        let watch = reader.watchWriter(orWhenReadable: signals.descriptor.raw, ringing: sinks.bell)
        if watch == nil { livenessInterval = Self.unwatchedInterval }
        defer { withExtendedLifetime(watch) {} }
        var rings = sinks.bell.count
        while !signals.take() {
            let now: Instant = MonotonicClock.now()
            try follow(at: now)
            if broadcastStopped(at: now) { return endEncodes(.broadcastStopped) }
            if now >= reportAt {
                eachSecond(statistics)
                reportAt = max(reportAt + .seconds(1), now)
            }
            let deadline = earliest(now + livenessInterval, policy.nextDeadline, encodes.isEmpty ? nil : reportAt)
            sinks.bell.wait(while: rings, until: deadline)
            let count = sinks.bell.count
            if count != rings { livenessAt = nil }
            rings = count
        }
        return endEncodes(.interrupted)
    }

    private var statistics: SenderStatistics {
        var sum = departed
        for encode in leaving + encodes { sum.add(encode.progress.statistics) }
        return sum
    }

    // MARK: - Renditions

    private mutating func follow(at now: Instant) throws(VideoEncoderError) {
        try removeFailed(at: now)
        let wanted = renditions.map(\.id).filter { [sinks] in sinks.demand(for: $0, at: now).isWanted }
        for decision in policy.decide(wanted: Set(wanted), at: now) {
            switch decision {
            case .begin(let id): begin(renditions.first { $0.id == id }!, at: now)
            case .end(let id): end(id)
            }
        }
        leaving.removeAll { encode in
            let progress = encode.progress
            if progress.hasEnded { departed.add(progress.statistics) }
            return progress.hasEnded
        }
        tellPreference()
        tellProblem()
    }

    private mutating func begin(_ rendition: Rendition, at now: Instant) {
        do {
            let encode = try Encode(
                rendition,
                settings,
                reader: try reader.another(),
                sinks: sinks,
                preference: preference
            )
            encodes.append(encode)
        } catch {
            policy.noteFailure(of: rendition.id, at: now)
            report("\(rendition.codec.rawValue) cannot be encoded: \(error)")
        }
    }

    private mutating func end(_ id: Rendition.ID) {
        for encode in encodes where encode.rendition.id == id {
            encode.stop()
            leaving.append(encode)
        }
        encodes.removeAll { $0.rendition.id == id }
        sinks.bell.ring()
    }

    /// Lets go of the encodes that ended by themselves. They are begun again after a rest.
    private mutating func removeFailed(at now: Instant) throws(VideoEncoderError) {
        for encode in encodes {
            let progress = encode.progress
            guard progress.hasEnded, let failure = progress.failure else { continue }
            encodes.removeAll { $0 === encode }
            departed.add(progress.statistics)
            if encodes.isEmpty, departed.framesEncoded == 0 { throw failure }
            let rest = policy.noteFailure(of: encode.rendition.id, at: now)
            let name = encode.rendition.codec.rawValue
            report("the encoder of \(name) failed (\(failure)): it is started again in \(rest.components.seconds) s")
        }
    }

    /// A frame that comes after this may find its sinks closed.
    private func endEncodes(_ end: End) -> End {
        for encode in encodes { encode.stop() }
        sinks.bell.ring()
        let deadline: Instant = MonotonicClock.now() + Self.farewellTime
        while true {
            let rings = sinks.bell.count
            let haveEnded = (encodes + leaving).allSatisfy { $0.progress.hasEnded }
            if haveEnded || MonotonicClock.now() >= deadline { return end }
            sinks.bell.wait(while: rings, until: deadline)
        }
    }

    private mutating func tellPreference() {
        let codec = preference.codec
        guard codec != preferred else { return }
        preferred = codec
        if let rendition = renditions.first(where: { $0.codec == codec }) { sinks.prefer(rendition.id) }
    }

    // MARK: - The broadcast

    private mutating func tellProblem() {
        let found = encodes.lazy.compactMap(\.progress.problem).first
        if let found, found != problem { report("\(found)") }
        problem = found
    }

    /// Looks at times whether the capture process is well, and tells when that changes.
    private mutating func broadcastStopped(at now: Instant) -> Bool {
        guard livenessAt.map({ now >= $0 }) ?? true, let found = try? reader.liveness() else { return false }
        livenessAt = now + livenessInterval
        defer { liveness = found }
        guard found != liveness else { return false }
        sinks.note(BroadcastCondition(found))
        if found == .stopped { return true }
        if let sentence = Self.sentence(for: found, after: liveness) { report(sentence) }
        return false
    }

    private static func sentence(for found: Liveness, after before: Liveness?) -> String? {
        switch (before, found) {
        case (_, .dead): "the capture process died; the last picture stays until it is started again"
        case (_, .stalled): "the capture process does not get to run; the last picture stays"
        case (_, .live(.sourceLost)): "the screen is gone; the last picture stays until it is back"
        case (_, .live(.paused)): "the broadcast is paused"
        case (_, .live(.error)): "the capture process cannot write new pictures; the last picture stays"
        case (.dead?, .live), (.stalled?, .live), (.live(.sourceLost)?, .live), (.live(.paused)?, .live),
            (.live(.error)?, .live):
            "the broadcast goes on"
        default: nil
        }
    }
}

extension BroadcastCondition {
    init(_ liveness: Liveness) {
        switch liveness {
        case .stopped: self = .stopped
        case .dead: self = .dead
        case .stalled: self = .stalled
        case .live(.starting): self = .starting
        case .live(.active), .live(.retired): self = .active
        case .live(.paused): self = .paused
        case .live(.stopping): self = .stopping
        case .live(.stopped): self = .stopped
        case .live(.error): self = .error
        case .live(.sourceLost): self = .sourceLost
        }
    }
}
