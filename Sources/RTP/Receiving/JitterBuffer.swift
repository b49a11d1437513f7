package import Media
package import Time

/// The Opus packets of one peer, and the time to play each. A packet is played as soon as a late one would have
/// arrived. A lost packet is replaced.
///
/// The player asks for the next step whenever it runs out of samples. Times are samples of 48 kHz.
package struct JitterBuffer {
    package enum Step: Equatable, Sendable {
        /// A packet of `samples` samples. `surplus` is its lateness beyond need: the player shortens the sound by that
        /// much, or lengthens it if negative, where that is not heard.
        case packet([UInt8], samples: Int, surplus: Int)
        /// The samples of a lost packet, decoded from the poor copy in the next packet, which is given (RFC 6716
        /// §2.1.7).
        case recovery(from: [UInt8], samples: Int)
        /// This many samples are to be concealed.
        case concealment(samples: Int)
        /// There is nothing to play.
        case silence
    }

    private struct Waiting {
        let number: Int64
        let time: Int
        let samples: Int
        let sound: ReceivedSound
    }

    private enum State {
        case silent
        /// The next sample, how many samples were concealed before it, and the number of the last packet.
        case playing(next: Int, concealed: Int, number: Int64)
    }

    /// The most waiting packets: 0.64 s of the shortest ones.
    private static let capacity = 256
    /// A timestamp this far from the one before belongs to another stream: 10 s.
    private static let longestStep = 480_000
    /// A packet this late comes from a clock that was set back: 1 s.
    private static let latest = 48_000
    /// Sound further behind is left out, and not played a little faster: 200 ms.
    private static let mostSurplus = 9600
    /// A surplus too small for a change: −2.5 to 10 ms.
    private static let slightSurplus = -120...480
    /// The longest concealment of lost sound: 120 ms. Longer, it is no likeness any more.
    private static let longestConcealment = 5760
    /// How long the noise of a quiet talker continues without a packet: 1 s. A quiet talker sends one in 400 ms.
    private static let longestQuiet = 48_000
    /// At a loss above one packet in two hundred, it pays to wait for their copies.
    private static let worthwhileLoss = 0.005

    private var state = State.silent
    /// By time.
    private var waiting: [Waiting] = []
    private var delay = PlayoutDelay()
    private var numbers = SequenceUnwrapper()
    /// The latest packet: its timestamp as it came, the same without wrapping, and its arrival.
    private var latest: (timestamp: UInt32, time: Int, at: Instant)?
    private var isQuiet = false
    private var samples = 960
    /// The share of lost or late packets among the latest few hundred.
    package private(set) var lossRatio = 0.0
    /// The share of concealed samples in the latest few seconds.
    package private(set) var concealedRatio = 0.0

    package init() {}

    // MARK: - Input

    /// Receives a packet that a decoder can read, of `samples` samples, 120 to 5760.
    package mutating func receive(_ packet: ReceivedSound, samples: Int) {
        var time = self.time(of: packet)
        if let latest,
            abs(time - latest.time) > Self.longestStep || delay.lateness(of: transit(packet, time)) > Self.latest
        {
            beginAnew()
            time = Int(packet.timestamp)
        }
        let transit = transit(packet, time)
        // A clock may stand still while nothing is sent.
        if let latest, case .silent = state, waiting.isEmpty, packet.arrivedAt > latest.at + .milliseconds(500),
            delay.lateness(of: transit) > delay.wait(andFor: 0)
        {
            delay.forget()
        }
        latest = (packet.timestamp, time, packet.arrivedAt)
        delay.note(transit: transit, at: packet.arrivedAt)
        let number = numbers.unwrap(packet.sequenceNumber)
        insert(Waiting(number: number, time: time, samples: samples, sound: packet))
    }

    private func time(of packet: ReceivedSound) -> Int {
        guard let latest else { return Int(packet.timestamp) }
        return latest.time + Int(Int32(bitPattern: packet.timestamp &- latest.timestamp))
    }

    private func transit(_ packet: ReceivedSound, _ time: Int) -> Int { Self.time(packet.arrivedAt) - time }

    private static func time(_ instant: Instant) -> Int { Int(RTPStream.ticks(instant, 48_000)) }

    private mutating func beginAnew() {
        state = .silent
        waiting.removeAll()
        numbers = SequenceUnwrapper()
        delay.forget()
    }

    private mutating func insert(_ packet: Waiting) {
        if case .playing(let next, _, _) = state, packet.time < next { return }
        let place = (waiting.lastIndex { $0.time < packet.time } ?? -1) + 1
        if place < waiting.count, waiting[place].time == packet.time { return }
        waiting.insert(packet, at: place)
        if waiting.count > Self.capacity { waiting.removeFirst() }
    }

    // MARK: - Output

    /// The next step to play. Ask when there are too few samples for the next block.
    package mutating func next(at now: Instant) -> Step {
        let now = Self.time(now)
        let playout = delay.playout(andFor: margin) ?? 0
        switch state {
        case .silent:
            guard let first = waiting.first, now >= first.time + playout else { return .silence }
            leaveOut(until: now - playout)
            return take(playout: now - playout)
        case .playing(var next, var concealed, let number):
            if let first = waiting.first, now - first.time > playout + Self.mostSurplus {
                leaveOut(until: now - playout)
                (next, concealed) = (waiting[0].time, 0)
            }
            guard let first = waiting.first else { return conceal(480) }
            let missing = first.time - next - concealed
            if missing <= 0 { return take(playout: now - playout) }
            if first.number > number + 1, missing == first.samples {
                note(concealed: missing)
                state = .playing(next: first.time, concealed: 0, number: number)
                return .recovery(from: first.sound.bytes, samples: missing)
            }
            return conceal(min(missing, 480))
        }
    }

    /// How long to wait for a packet beyond the delay of late ones. If its copy may be needed: until the packet after
    /// it comes.
    private var margin: Int { lossRatio > Self.worthwhileLoss ? samples : 0 }

    /// Leaves out packets while the next one should have begun by a time, too.
    private mutating func leaveOut(until time: Int) {
        guard time - waiting[0].time > Self.mostSurplus else { return }
        while waiting.count > 1, waiting[1].time <= time { waiting.removeFirst() }
    }

    /// - Parameter time: of the packet that is due now.
    private mutating func take(playout time: Int) -> Step {
        let packet = waiting.removeFirst()
        var last = packet.number
        if case .playing(_, _, let number) = state {
            note(lost: packet.number - number - 1)
            last = number
        }
        state = .playing(next: packet.time + packet.samples, concealed: 0, number: max(last, packet.number))
        // Packets that it covers, though it should not.
        while let first = waiting.first, first.time < packet.time + packet.samples { waiting.removeFirst() }
        (isQuiet, samples) = (packet.sound.isQuiet, packet.samples)
        concealedRatio *= 1 - Self.weight(of: packet.samples)
        // Only the surplus that really waits can be shortened.
        let behind = waiting.last.map { $0.time + $0.samples - packet.time - packet.samples } ?? 0
        let surplus = min(time - packet.time, max(behind, 0))
        let isSlight = Self.slightSurplus ~= surplus
        return .packet(packet.sound.bytes, samples: packet.samples, surplus: isSlight ? 0 : surplus)
    }

    private mutating func note(lost count: Int64) {
        lossRatio *= 1 - 1.0 / 250
        for _ in 0..<min(max(count, 0), 1000) { lossRatio += (1 - lossRatio) / 250 }
    }

    private mutating func note(concealed samples: Int) {
        if !isQuiet { concealedRatio += (1 - concealedRatio) * Self.weight(of: samples) }
    }

    /// The weight of samples among those of the latest 5 s.
    private static func weight(of samples: Int) -> Double { Double(samples) / 240_000 }

    /// - Parameter samples: rounded up to a multiple of 2.5 ms, as decoders demand.
    private mutating func conceal(_ samples: Int) -> Step {
        let samples = (samples + 119) / 120 * 120
        guard case .playing(let next, let concealed, let number) = state,
            concealed + samples <= (isQuiet ? Self.longestQuiet : Self.longestConcealment)
        else {
            state = .silent
            return .silence
        }
        note(concealed: samples)
        state = .playing(next: next, concealed: concealed + samples, number: number)
        return .concealment(samples: samples)
    }

    /// When `next` may have something to play; nil while nothing waits.
    package var nextDeadline: Instant? {
        switch state {
        case .playing: return .start
        case .silent:
            guard let first = waiting.first, let playout = delay.playout(andFor: margin) else { return nil }
            // Rounded up.
            return Instant(nanoseconds: UInt64(max(first.time + playout, 0)) * 62_500 / 3 + 20_834)
        }
    }

    /// How long packets wait before they are played.
    package var wait: Duration { .nanoseconds(delay.wait(andFor: margin) * 62_500 / 3) }
}
