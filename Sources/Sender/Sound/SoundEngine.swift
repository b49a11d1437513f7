import FrameBridge
import Media
import Time

/// Decides what of the broadcast's sound is encoded, and what is sent of silence. Sans-IO: instants come from outside.
struct SoundEngine {
    /// A block that comes later than this after it was heard is of no use to anybody.
    static let longestDelay = Duration.milliseconds(500)
    /// One that is to be heard more than this later than now is of another clock, as before a restart of the machine.
    static let longestLead = Duration.seconds(1)
    /// While nothing else is sent, sinks that need to be told so get a packet in each interval.
    static let keepAliveInterval = Duration.milliseconds(400)
    /// A packet of silence is told to be so old: what is heard a little before it is taken may still follow.
    static let keepAliveAge = Duration.milliseconds(100)
    /// Packets up to this size, in bytes, say that there is nothing to hear: 1 of a voice, 3 of two channels.
    private static let largestSilence = 3
    /// A frame without a byte in it (RFC 6716 §3.2.1): two channels of 20 ms (§3.1), which are concealed, as what is lost.
    private static let silence: UInt8 = 31 << 3 | 1 << 2

    private var frames = SoundFrames()
    /// Whether the last packet said that there is nothing to hear.
    private var isSilent = true
    private var sentAt: Instant?
    private var horizon: Instant?
    private(set) var statistics = SoundStatistics()
    /// Whether what the encoder remembers may not be heard any more. It holds back a third of a frame.
    private(set) var mustForget = false

    /// Of the frame that `take` gave last.
    var samples: [Int16] { frames.samples }

    // MARK: - Blocks

    /// Takes the next block.
    ///
    /// - Parameters:
    ///   - horizon: what was heard before it is sent no more; nil for all.
    ///   - isPaused: whether the broadcast is.
    /// - Returns: a frame that is to be encoded.
    mutating func take(
        _ block: SoundBlock,
        _ samples: Span<Int16>,
        horizon: Instant?,
        isPaused: Bool,
        at now: Instant
    ) -> SoundFrames.Frame? {
        let isHidden = isPaused || horizon.map { block.capturedAt < $0 } ?? false
        if isHidden || horizon != self.horizon {
            self.horizon = horizon
            frames.interrupt(until: horizon)
            mustForget = true
        }
        if isHidden { return nil }
        guard .zero - Self.longestLead...Self.longestDelay ~= now - block.capturedAt else {
            frames.interrupt()
            statistics.blocksLost += 1
            return nil
        }
        statistics.blocks += 1
        return frames.take(block, samples)
    }

    /// Whether `takeBeginning` may have something to give.
    var hasBegun: Bool { frames.hasBegun }

    /// No block comes at once any more: gives what the last one has begun.
    ///
    /// - Parameters: as of `take`.
    /// - Returns: a frame that is to be encoded.
    mutating func takeBeginning(horizon: Instant?, isPaused: Bool) -> SoundFrames.Frame? {
        isPaused || horizon != self.horizon ? nil : frames.takeBeginning()
    }

    /// So many blocks are gone that nobody has taken.
    mutating func noteLost(_ count: UInt64) {
        frames.interrupt()
        statistics.blocksLost &+= count
    }

    // MARK: - Packets

    /// A frame was encoded by an encoder that has encoded only what may be heard.
    ///
    /// - Returns: whether the packet is to be sent: of those that say that there is nothing to hear, only the first.
    mutating func admits(_ size: Int, _ frame: SoundFrames.Frame, isKeptAlive: Bool, at now: Instant) -> Bool {
        mustForget = false
        let wasSilent = isSilent
        isSilent = size <= Self.largestSilence
        let isDue = isKeptAlive && sentAt.map { now - $0 >= Self.keepAliveInterval } ?? true
        guard !isSilent || !wasSilent || isDue else { return false }
        note(size, at: now)
        statistics.channels = frame.channels
        return true
    }

    /// When `takeKeepAlive` has something to give; nil if nobody needs it. May lie in the past.
    func keepAliveAt(isKeptAlive: Bool) -> Instant? {
        isKeptAlive ? sentAt.map { $0 + Self.keepAliveInterval } ?? .start : nil
    }

    /// A packet for sinks that need to be told that there is nothing to hear, if one is due.
    mutating func takeKeepAlive(isKeptAlive: Bool, at now: Instant) -> (packet: UInt8, EncodedSound)? {
        guard let due = keepAliveAt(isKeptAlive: isKeptAlive), due <= now else { return nil }
        isSilent = true
        note(1, at: now)
        return (Self.silence, EncodedSound(capturedAt: frames.reserve(at: now - Self.keepAliveAge)))
    }

    private mutating func note(_ size: Int, at now: Instant) {
        sentAt = now
        statistics.packets += 1
        statistics.bytes += UInt64(size)
        if !isSilent { statistics.heardAt = now }
    }
}
