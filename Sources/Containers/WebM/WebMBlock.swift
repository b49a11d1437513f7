/// What stands before a frame in its block (RFC 9559 §10): track, time and flags.
struct WebMBlock {
    let track: WebMTracks.Track
    /// ms after the timestamp of its cluster.
    let time: Int16
    let isKeyframe: Bool

    /// Bytes of it.
    static let length = 4
    private static let keyframe: UInt8 = 0x80

    /// - Parameter time: ms after the timestamp of its cluster, as far as it fits.
    init(_ track: WebMTracks.Track, at time: Int64, isKeyframe: Bool) {
        (self.track, self.time, self.isKeyframe) = (track, Int16(clamping: time), isKeyframe)
    }

    /// Reads that of a simple block of Oriel's; nil for any other.
    init?(_ bytes: ArraySlice<UInt8>) {
        let bytes = Array(bytes.prefix(Self.length))
        guard bytes.count == Self.length, bytes[0] & 0x80 != 0, bytes[3] & ~Self.keyframe == 0,
            let track = WebMTracks.Track(rawValue: UInt64(bytes[0] & 0x7F))
        else { return nil }
        self.track = track
        time = Int16(bitPattern: UInt16(bytes[1]) << 8 | UInt16(bytes[2]))
        isKeyframe = bytes[3] == Self.keyframe
    }

    /// The frame follows.
    func writeSimple(frameLength: Int, into file: inout EBMLWriter) {
        file.begin(.simpleBlock, count: Self.length + frameLength)
        file.append(bytes(flags: isKeyframe ? Self.keyframe : 0))
    }

    /// With the time for which it is shown, in ms.
    func writeGroup(_ frame: [UInt8], duration: Int64, into file: inout EBMLWriter) {
        file.master(.blockGroup) { group in
            group.binary(.block, bytes(flags: 0) + frame)
            group.unsigned(.blockDuration, UInt64(max(duration, 1)))
            // The frame before is at another time. Readers only look whether there is one.
            if !isKeyframe { group.signed(.referenceBlock, -1) }
        }
    }

    private func bytes(flags: UInt8) -> [UInt8] {
        let time = UInt16(bitPattern: time)
        return [0x80 | UInt8(track.rawValue), UInt8(time >> 8), UInt8(time & 0xFF), flags]
    }
}
