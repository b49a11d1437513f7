import Containers
import Control
import Media
import Time

/// A file that is being written: its container, and the times in it. Sans-IO: it returns bytes for the file.
struct OpenFile {
    /// Bytes for a file, in order.
    enum Write: Equatable {
        case append([UInt8], [UInt8])
        case patch(WebMPatch)
    }

    let first: FeedPicture
    let start: Instant
    let hasSound: Bool
    private var writer: WebMWriter
    private var silence = SilenceFiller()
    /// When the last picture was shown first.
    private(set) var lastPicture: Instant
    /// Since the last keyframe, in bytes, and when that was shown.
    private(set) var sinceKeyframe: (bytes: Int, at: Instant)

    /// - Parameters:
    ///   - first: a keyframe.
    ///   - start: the beginning of the file. Pictures from before, which the later ones need, are shown for a millisecond each.
    ///   - date: of it, in seconds since 1970, UTC.
    /// - Returns: nil for a keyframe that no decoder reads.
    init?(
        first: FeedPicture,
        _ bytes: [UInt8],
        from start: Instant,
        hasSound: Bool,
        title: String,
        date: Double
    ) {
        var configuration: AV1Configuration?
        if first.codec == .av1 {
            configuration = AV1Configuration(keyframe: bytes)
            if configuration == nil { return nil }
        }
        let tracks = WebMTracks(
            codec: first.codec,
            dimensions: (first.width, first.height),
            av1: configuration,
            sound: hasSound ? OpusHead(channels: 2) : nil
        )
        (writer, head) = WebMWriter.begin(tracks, title: title, date: date)
        sinceKeyframe = (0, first.shownAt)
        (self.first, self.start, lastPicture, self.hasSound) = (first, start, first.shownAt, hasSound)
    }

    /// The first bytes of the file.
    let head: [UInt8]

    var length: UInt64 { writer.position }

    mutating func add(_ picture: FeedPicture, _ bytes: [UInt8]) -> [Write] {
        let frame = picture.codec == .av1 ? Array(OpenBitstreamUnit.withoutDelimiter(bytes[...])) : bytes
        lastPicture = max(lastPicture, picture.shownAt)
        if picture.isKeyframe { sinceKeyframe = (0, picture.shownAt) } else { sinceKeyframe.bytes += frame.count }
        // The times in a cluster have to be near each other.
        return fillSilence(at: picture.shownAt)
            + add(frame, .picture, at: lastPicture - start, isKeyframe: picture.isKeyframe)
    }

    mutating func add(sound packet: [UInt8], at instant: Instant) -> [Write] {
        guard hasSound, instant >= start else { return [] }
        let time = instant - start
        var writes = fillSilence(until: time, takesShort: true)
        if let time = silence.admit(at: time) { writes += add(packet, .sound, at: time, isKeyframe: true) }
        return writes
    }

    /// Silence, as far as no sound can come any more.
    mutating func fillSilence(at now: Instant) -> [Write] {
        hasSound ? fillSilence(until: now - SilenceFiller.patience - start, takesShort: false) : []
    }

    private mutating func fillSilence(until time: Duration, takesShort: Bool) -> [Write] {
        silence.fill(until: time, takesShort: takesShort).flatMap {
            add($0.packet, .sound, at: $0.at, isKeyframe: true)
        }
    }

    /// Another second has passed.
    mutating func addBeat() -> [Write] { [.append(writer.addBeat(), [])] }

    /// - Parameter end: until when the last picture is shown.
    mutating func end(at end: Instant) -> (writes: [Write], WebMEnd)? {
        let writes = hasSound ? fillSilence(until: end - start, takesShort: true) : []
        return writer.end(at: end - start).map { (writes, $0) }
    }

    private mutating func add(_ frame: [UInt8], _ track: WebMTracks.Track, at time: Duration, isKeyframe: Bool)
        -> [Write]
    {
        let addition = writer.add(frame, to: track, at: time, isKeyframe: isKeyframe)
        return (addition.patch.map { [.patch($0)] } ?? []) + [.append(addition.head, frame)]
    }
}
