import FrameBridge
import Media
import Posix
import SoundCoding
import Time

/// The work of the [sound] thread: it reads blocks from the ring, encodes, and gives packets to the sinks, by the
/// decisions of `SoundEngine`.
final class SoundLoop {
    /// The rest after a failure of the encoder, or of reading the ring.
    private static let rest = Duration.seconds(1)
    private static let longestSleep = Duration.seconds(1)
    /// The most blocks before the thread checks whether it is to end.
    private static let mostAtOnce = 128
    /// All blocks of a piece are written within this time.
    private static let pieceTime = Duration.milliseconds(2)

    private var reader: SoundReader
    private let ringHorizon: Horizon
    private var pauses: BroadcastPauses
    private let sinks: Sinks
    private let report: (String) -> Void
    private var engine = SoundEngine()
    /// Nil before the first frame, and after sound that must not be heard any more.
    private var encoder: OpusEncoder?
    private var encodeTime = Duration.zero
    private var restsUntil: Instant?
    /// The last reported fault.
    private var problem: String?

    init(
        _ reader: consuming SoundReader,
        of broadcast: consuming FrameReader,
        sinks: Sinks,
        report: @escaping (String) -> Void
    ) {
        ringHorizon = reader.horizon
        self.reader = reader
        pauses = BroadcastPauses(of: broadcast)
        (self.sinks, self.report) = (sinks, report)
    }

    func run(for encode: SoundEncode) {
        while true {
            // The bell is read first, so that no ring is lost.
            let rings = sinks.bell.count
            if encode.mustStop { return }
            let now: Instant = MonotonicClock.now()
            let demand = sinks.soundDemand(at: now)
            if restsUntil.map({ now >= $0 }) ?? true { takeBlocks(demand) }
            if let (packet, sound) = engine.takeKeepAlive(isKeptAlive: demand.isKeptAlive, at: now) {
                sinks.send(sound: [packet].span, sound, at: now)
            }
            var statistics = engine.statistics
            (statistics.bitrate, statistics.encodeTime) = (encoder?.bitrate ?? 0, encodeTime)
            encode.note(statistics)
            wait(from: now, demand, while: rings)
        }
    }

    private func wait(from now: Instant, _ demand: SoundDemand, while rings: UInt32) {
        let end = now + Self.longestSleep
        let deadline = min(end, engine.keepAliveAt(isKeptAlive: demand.isKeptAlive) ?? end)
        if let restsUntil {
            sinks.bell.wait(while: rings, until: min(deadline, restsUntil))
        } else {
            reader.wait(until: deadline, or: sinks.bell, while: rings)
        }
    }

    /// Encodes the available blocks, at most a lap of the ring: a ring that is written ever faster must not keep the
    /// thread.
    private func takeBlocks(_ demand: SoundDemand) {
        restsUntil = nil
        var (hasLooked, hasWaited) = (false, false)
        do {
            for _ in 0..<Self.mostAtOnce {
                var frame: SoundFrames.Frame?
                let outcome = try reader.read { block, samples in
                    pauses.look(isThorough: !hasLooked)
                    hasLooked = true
                    frame = engine.take(
                        block,
                        samples,
                        horizon: horizon,
                        isPaused: pauses.isPaused,
                        at: MonotonicClock.now()
                    )
                }
                switch outcome {
                case .block: if let frame { try encode(frame, demand) }
                case .lost(let count): engine.noteLost(count)
                case .none where engine.hasBegun && !hasWaited:
                    // The second block of a piece is written right after the first.
                    hasWaited = true
                    reader.wait(until: MonotonicClock.now() + Self.pieceTime)
                case .none:
                    problem = nil
                    try takeBeginning(demand)
                    return
                }
            }
        } catch {
            if problem != "\(error)" { report("the sound cannot be sent: \(error)") }
            problem = "\(error)"
            encoder = nil
            restsUntil = MonotonicClock.now() + Self.rest
        }
    }

    private func takeBeginning(_ demand: SoundDemand) throws(OpusError) {
        guard engine.hasBegun else { return }
        pauses.look(isThorough: false)
        let frame = engine.takeBeginning(horizon: horizon, isPaused: pauses.isPaused)
        if let frame { try encode(frame, demand) }
    }

    /// Earlier sound is not sent any more.
    private var horizon: Instant? { [ringHorizon.instant, pauses.horizon].compactMap(\.self).max() }

    private func encode(_ frame: SoundFrames.Frame, _ demand: SoundDemand) throws(OpusError) {
        let begin = MonotonicClock.threadTime()
        if engine.mustForget || encoder?.channels != frame.channels {
            encoder = nil
            encoder = try OpusEncoder(channels: frame.channels)
        }
        let usual = OpusEncoder.usualBitrate(channels: frame.channels)
        try encoder!.setBitrate(min(usual, demand.bitrate ?? usual))
        try encoder!.setExpectedLoss(demand.lossRatio)
        let now: Instant = MonotonicClock.now()
        try encoder!.encode(engine.samples.span) { packet in
            encodeTime += MonotonicClock.threadTime() - begin
            guard engine.admits(packet.count, frame, isKeptAlive: demand.isKeptAlive, at: now) else { return }
            sinks.send(sound: packet, EncodedSound(capturedAt: frame.capturedAt), at: now)
        }
    }
}
