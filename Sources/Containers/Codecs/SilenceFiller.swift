import Time

/// Keeps a sound track without holes: players stop at one, or skip it. A sender sends nothing during silence.
package struct SilenceFiller {
    /// One packet of six frames (RFC 6716 §3.2.5): constant size, each of them `OpusHead.silence` without its head.
    private static let longPacket: [UInt8] = [0xFF, 6] + [[UInt8]](repeating: [0xFF, 0xFE], count: 6).flatMap(\.self)
    private static let frame = Duration.milliseconds(20)
    /// Sound that comes later than this is not sent (`SoundEngine.longestDelay`), with some time for its way.
    package static let patience = Duration.milliseconds(700)

    /// Until when the track has sound, since the beginning of the file.
    package private(set) var end = Duration.zero

    package init() {}

    /// Packets of silence until an instant, as far as they fit.
    ///
    /// - Parameter takesShort: whether to come as near as that takes. Short packets take more room.
    package mutating func fill(until time: Duration, takesShort: Bool) -> [(packet: [UInt8], at: Duration)] {
        var packets: [(packet: [UInt8], at: Duration)] = []
        while time - end >= (takesShort ? Self.frame : Self.frame * 6) {
            let isLong = time - end >= Self.frame * 6
            packets.append((isLong ? Self.longPacket : OpusHead.silence, end))
            end += isLong ? Self.frame * 6 : Self.frame
        }
        return packets
    }

    /// A packet of sound follows.
    ///
    /// - Returns: its time; nil if it begins before the end of what is there.
    package mutating func admit(at time: Duration) -> Duration? {
        // Half a frame may be missing, or there twice: nobody hears that.
        guard time >= end - Self.frame / 2 else { return nil }
        end = max(time, end) + Self.frame
        return end - Self.frame
    }
}
