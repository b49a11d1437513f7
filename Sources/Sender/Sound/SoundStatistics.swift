package import Time

/// Totals since the sender began.
package struct SoundStatistics: Sendable, Equatable {
    /// Blocks of 10 ms that came, and those that were lost or too late.
    package internal(set) var blocks: UInt64 = 0
    package internal(set) var blocksLost: UInt64 = 0
    /// Packets that were given to the sinks, and their bytes.
    package internal(set) var packets: UInt64 = 0
    package internal(set) var bytes: UInt64 = 0
    /// The channels of the last packet of sound; 0 before the first.
    package internal(set) var channels = 0
    /// The encoder's target, in bits a second; 0 before the first packet.
    package internal(set) var bitrate = 0
    /// When the last packet with audible sound was sent; nil if none was.
    package internal(set) var heardAt: Instant?
    package internal(set) var encodeTime = Duration.zero

    package init() {}

    /// Adds the figures of an earlier thread.
    func adding(_ former: SoundStatistics) -> SoundStatistics {
        var sum = self
        sum.blocks += former.blocks
        sum.blocksLost += former.blocksLost
        sum.packets += former.packets
        sum.bytes += former.bytes
        sum.encodeTime += former.encodeTime
        if heardAt == nil { (sum.channels, sum.heardAt) = (former.channels, former.heardAt) }
        return sum
    }
}
