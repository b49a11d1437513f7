import FrameBridge
import Media
import Time

/// Decides which sound of the broadcast is encoded, and which packets of silence are sent. Sans-IO: instants come from
/// outside.
struct SoundEngine {
    /// Blocks with a larger delay are too late to be useful.
    static let longestDelay = Duration.milliseconds(500)
    /// A block further in the future is of another clock, as before a restart of the machine.
    static let longestLead = Duration.seconds(1)
    /// While nothing else is sent, sinks that need it get a packet in each interval.
    static let keepAliveInterval = Duration.milliseconds(400)
    /// The age in the timestamp of a packet of silence: sound from shortly before may still follow.
    static let keepAliveAge = Duration.milliseconds(100)
    /// Packets up to this size, in bytes, are silence: 1 of a voice, 3 of two channels.
    private static let largestSilence = 3
    /// A frame without a byte in it (RFC 6716 §3.2.1): two channels of 20 ms (§3.1), which are concealed like lost
    /// sound.
    private static let silence: UInt8 = 31 << 3 | 1 << 2

    private var frames = SoundFrames()
    /// Whether the last packet was silence.
    private var isSilent = true
    private var sentAt: Instant?
    private var horizon: Instant?
    private(set) var statistics = SoundStatistics()
    /// Whether the encoder remembers sound that must not be heard any more. It holds back a third of a frame.
    private(set) var mustForget = false

    /// The samples of the last frame from `take`.
    var samples: [Int16] { frames.samples }

    // MARK: - Blocks

    /// Takes the next block.
    ///
    /// - Parameters:
    ///   - horizon: earlier sound is not sent any more; nil for no limit.
    ///   - isPaused: whether the broadcast is.
    /// - Returns: a frame to encode.
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

    /// Whether `takeBeginning` may return a frame.
    var hasBegun: Bool { frames.hasBegun }

    /// Completes the frame of the last block. Call it if no further block comes at once.
    ///
    /// - Parameters: as of `take`.
    /// - Returns: a frame to encode.
    mutating func takeBeginning(horizon: Instant?, isPaused: Bool) -> SoundFrames.Frame? {
        isPaused || horizon != self.horizon ? nil : frames.takeBeginning()
    }

    /// Records blocks that were overwritten before they were read.
    mutating func noteLost(_ count: UInt64) {
        frames.interrupt()
        statistics.blocksLost &+= count
    }

    // MARK: - Packets

    /// Records a frame from an encoder that has encoded only permitted sound.
    ///
    /// - Returns: whether to send the packet. Only the first of successive silent ones is sent.
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

    /// When `takeKeepAlive` has a packet; nil if nobody needs it. May lie in the past.
    func keepAliveAt(isKeptAlive: Bool) -> Instant? {
        isKeptAlive ? sentAt.map { $0 + Self.keepAliveInterval } ?? .start : nil
    }

    /// A silent packet for sinks that need one, if it is due.
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
