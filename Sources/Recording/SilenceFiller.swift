import Containers
import Time

/// Keeps a sound track without holes: players stop at one, or skip it. A sender sends nothing during silence.
struct SilenceFiller {
    /// One packet of six frames (RFC 6716 §3.2.5): constant size, each of them `OpusHead.silence` without its head.
    private static let longPacket: [UInt8] = [0xFF, 6] + [[UInt8]](repeating: [0xFF, 0xFE], count: 6).flatMap(\.self)
    private static let frame = Duration.milliseconds(20)
    /// Sound that comes later than this is not sent (`SoundEngine.longestDelay`), with some time for its way.
    static let patience = Duration.milliseconds(700)

    /// Until when the track has sound, since the beginning of the file.
    private(set) var end = Duration.zero

    /// Packets of silence until an instant, as far as they fit.
    mutating func fill(until time: Duration) -> [(packet: [UInt8], at: Duration)] {
        var packets: [(packet: [UInt8], at: Duration)] = []
        while time - end >= Self.frame {
            let isLong = time - end >= Self.frame * 6
            packets.append((isLong ? Self.longPacket : OpusHead.silence, end))
            end += isLong ? Self.frame * 6 : Self.frame
        }
        return packets
    }

    /// A packet of sound follows.
    ///
    /// - Returns: its time; nil if it begins before the end of what is there.
    mutating func admit(at time: Duration) -> Duration? {
        // Half a frame may be missing, or there twice: nobody hears that.
        guard time >= end - Self.frame / 2 else { return nil }
        end = max(time, end) + Self.frame
        return end - Self.frame
    }
}
