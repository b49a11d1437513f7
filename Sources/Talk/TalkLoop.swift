import FrameBridge
import Media
import Posix
import SoundCoding
import Time

/// The work of the thread [talk]: each 10 ms it mixes the voices of peers, and writes a block. It sleeps while nobody
/// speaks.
final class TalkLoop {
    /// Later blocks are left out: the process had stalled.
    private static let longestDelay = Duration.milliseconds(100)
    /// Blocks of silence that are written after the last sound.
    static let tail = 20
    /// Blocks between two reports of the voices' statistics.
    private static let statisticsInterval = 25

    private var writer: SoundWriter
    private let problem: (String) -> Void
    private var hasToldProblem = false
    private var voices: [ParticipantID: Voice] = [:]
    private var mix = SoundMix()
    private(set) var outcome = TalkBack.Outcome()
    private var revocations: UInt64 = 0
    /// The beginning of the next block; nil while there is none.
    private var nextBlock: Instant?
    private var blocks = 0
    /// The number of silent blocks since the last sound.
    private var silentBlocks = tail
    private var follows = false

    /// - Parameter problem: gets a sentence once if voices cannot be heard.
    init(into writer: consuming SoundWriter, _ problem: @escaping (String) -> Void) {
        self.writer = writer
        self.problem = problem
    }

    func run(for talk: TalkBack) {
        while true {
            let rings = talk.bell.count
            let now: Instant = MonotonicClock.now()
            let wasIdle = outcome.isIdle
            let work = talk.exchange(outcome, at: now)
            if work.isClosed { return }
            let deadline = perform(work, at: now)
            talk.noteCarriedOut(revocations)
            // The thread that delivers packets must see `isIdle` before this one sleeps.
            if outcome.isIdle && (!wasIdle || !work.packets.isEmpty) { continue }
            talk.bell.wait(while: rings, until: deadline)
        }
    }

    /// Receives packets, and writes a block if it is time.
    ///
    /// - Returns: when to continue if nothing comes; nil for never.
    func perform(_ work: TalkBack.Work, at now: Instant) -> Instant? {
        outcome.loud.removeAll()
        if work.revocations != revocations {
            revocations = work.revocations
            writer.hide(before: now)
            nextBlock = nextBlock.map { max($0, now) }
        }
        follow(work)
        outcome.isIdle = voices.values.allSatisfy { $0.nextDeadline == nil }
        if outcome.isIdle {
            (nextBlock, follows, silentBlocks) = (nil, false, Self.tail)
            return work.deadline
        }
        let due = nextBlock.flatMap { now > $0 + Self.longestDelay ? nil : $0 } ?? now
        if now < due { return due }
        if nextBlock != due { follows = false }
        play(at: due)
        nextBlock = due + SoundBlock.duration
        return nextBlock
    }

    /// Receives the packets, and drops the voices that are no longer heard.
    private func follow(_ work: TalkBack.Work) {
        for peer in voices.keys where !work.heard.contains(peer) { voices[peer] = nil }
        for (peer, packet) in work.packets {
            if voices[peer] == nil {
                do throws(OpusError) { voices[peer] = try Voice() } catch { tell("\(error)") }
            }
            voices[peer]?.receive(packet)
        }
    }

    private func play(at now: Instant) {
        for (peer, voice) in voices where voice.play(into: &mix, at: now) && voice.isLoud { outcome.loud.append(peer) }
        silentBlocks = mix.finish() ? 0 : silentBlocks + 1
        if silentBlocks <= Self.tail { write(at: now) } else { follows = false }
        blocks += 1
        if blocks % Self.statisticsInterval == 0 { outcome.statistics = voices.mapValues(\.statistics) }
    }

    private func write(at now: Instant) {
        do throws(BridgeError) {
            try writer.write(mix.samples.span, channels: SoundMix.channels, capturedAt: now, follows: follows)
            follows = true
        } catch {
            follows = false
            tell("\(error)")
        }
    }

    private func tell(_ error: String) {
        if !hasToldProblem { problem("viewers are not heard: \(error)") }
        hasToldProblem = true
    }
}
