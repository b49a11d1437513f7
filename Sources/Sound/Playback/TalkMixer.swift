import FrameBridge
import Posix
import Synchronization
import Time

/// The voices of the peers of all senders, between the thread that reads them and the thread that plays them.
final class TalkMixer: Sendable {
    /// How long the speakers stay open after speech, so that the next words begin without a delay.
    static let tail = Duration.seconds(5)

    private struct State {
        var streams: [Int32: TalkStream] = [:]
        var heardAt: Instant?
        var isPossible = false
        var gain: Float = 1
        var sums: [Int32] = []
        var chime: Chime?

        /// Returns whether it begins.
        mutating func playChime(into sums: inout [Int32]) -> Bool {
            guard let playing = chime, playing.next < playing.samples.count, MonotonicClock.now() < playing.until else {
                return false
            }
            let count = min(sums.count, playing.samples.count - playing.next)
            for index in 0..<count { sums[index] += Int32(playing.samples[playing.next + index]) }
            chime?.next += count
            return !playing.hasBegun
        }
    }

    private struct Chime {
        let samples: [Int16]
        var next = 0
        var hasBegun: Bool { next > 0 }
        /// What was not played by then is left out, as where there are no speakers.
        let until: Instant
    }

    /// By how much a chime may be late, as it waits for speakers.
    private static let chimePatience = Duration.seconds(2)

    private let state = Mutex(State())
    /// Rung when a chime begins, or is given up.
    private let chimeBell = Bell()

    func setGain(_ gain: Float) { state.withLock { $0.gain = gain } }

    // MARK: - The reading thread

    /// Appends a block of a sender's voices. Returns whether it is the first speech, or the first for long.
    func append(_ block: SoundBlock, _ samples: Span<Int16>, of sender: Int32, at now: Instant) -> Bool {
        state.withLock { state in
            let isFirst = state.heardAt.map { now >= $0 + Self.tail } ?? true
            state.heardAt = max(state.heardAt ?? now, now)
            state.streams[sender, default: TalkStream()]
                .append(samples, channels: block.channels, follows: block.follows)
            return isFirst
        }
    }

    /// Sets the senders, and whether the peers of one may speak. Returns whether that has changed.
    func setSenders(_ senders: [Int32], isPossible: Bool) -> Bool {
        state.withLock { state in
            for sender in state.streams.keys where !senders.contains(sender) { state.streams[sender] = nil }
            defer { state.isPossible = isPossible }
            return state.isPossible != isPossible
        }
    }

    // MARK: - Chimes

    /// Plays a sound beside the voices, in place of the one before. Any thread; `waitForChime` tells whether it can be heard.
    ///
    /// - Parameter samples: one channel at 48 kHz.
    func ring(_ samples: [Int16], at now: Instant) {
        let length = Duration.seconds(Double(samples.count) / Double(SoundBlock.sampleRate))
        // The one before is freed here, and not by the playing thread.
        let former = state.withLock { state in
            defer { state.chime = Chime(samples: samples, until: now + length + Self.chimePatience) }
            state.heardAt = max(state.heardAt ?? now, now + length)
            return state.chime
        }
        withExtendedLifetime(former) {}
    }

    /// Waits until the newest chime begins, or is given up. Any thread but the playing one.
    ///
    /// - Returns: false if it was given up.
    func waitForChime(until deadline: Instant) -> Bool {
        chimeBell.wait(until: deadline) { state.withLock { $0.chime?.hasBegun ?? true } }
        return state.withLock { $0.chime != nil }
    }

    /// Gives a chime up that has not begun, as there are no speakers.
    func dropChime() {
        let dropped = state.withLock { state in state.chime?.hasBegun == false ? state.chime.take() : nil }
        if dropped != nil { chimeBell.ring() }
    }

    // MARK: - The playing thread

    /// Whether peers may speak, and whether one speaks or has just spoken.
    func talk(at now: Instant) -> (isPossible: Bool, isHeard: Bool) {
        state.withLock { state in (state.isPossible, state.heardAt.map { now < $0 + Self.tail } ?? false) }
    }

    func play(into samples: UnsafeMutableBufferPointer<Int16>) {
        let isNewChime = state.withLock { state in
            var sums = state.sums
            state.sums = []
            sums.removeAll(keepingCapacity: true)
            sums += repeatElement(0, count: samples.count)
            for sender in state.streams.keys { state.streams[sender]!.play(into: &sums) }
            let isNew = state.playChime(into: &sums)
            for index in samples.indices { samples[index] = Int16(clamping: Int32(Float(sums[index]) * state.gain)) }
            state.sums = sums
            return isNew
        }
        if isNewChime { chimeBell.ring() }
    }

    /// The longest wait of samples in seconds, how often there was nothing to play in the middle of speech, and the
    /// present stretch.
    var statistics: (waiting: Double, gaps: Int, ratio: Double) {
        state.withLock { state in
            let waiting = state.streams.values.map(\.count).max() ?? 0
            let ratio = state.streams.values.map(\.ratio).first { $0 != 1 } ?? 1
            return (
                Double(waiting) / Double(SoundBlock.sampleRate), state.streams.values.reduce(0) { $0 + $1.gaps }, ratio
            )
        }
    }
}
