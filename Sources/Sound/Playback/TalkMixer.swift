import FrameBridge
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
    }

    private let state = Mutex(State())

    func setGain(_ gain: Float) { state.withLock { $0.gain = gain } }

    // MARK: - The reading thread

    /// Appends a block of a sender's voices. Returns whether it is the first speech, or the first for long.
    func append(_ block: SoundBlock, _ samples: Span<Int16>, of sender: Int32, at now: Instant) -> Bool {
        state.withLock { state in
            let isFirst = state.heardAt.map { now >= $0 + Self.tail } ?? true
            state.heardAt = now
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

    // MARK: - The playing thread

    /// Whether peers may speak, and whether one speaks or has just spoken.
    func talk(at now: Instant) -> (isPossible: Bool, isHeard: Bool) {
        state.withLock { state in (state.isPossible, state.heardAt.map { now < $0 + Self.tail } ?? false) }
    }

    func play(into samples: UnsafeMutableBufferPointer<Int16>) {
        state.withLock { state in
            var sums = state.sums
            state.sums = []
            sums.removeAll(keepingCapacity: true)
            sums += repeatElement(0, count: samples.count)
            for sender in state.streams.keys { state.streams[sender]!.play(into: &sums) }
            for index in samples.indices { samples[index] = Int16(clamping: Int32(Float(sums[index]) * state.gain)) }
            state.sums = sums
        }
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
