import Time

/// Writes a WebM file (RFC 9559) of a screen: pictures may be seconds apart. Sans-IO: it returns bytes to append, and bytes to put into
/// places of the file.
///
/// A file that is torn off anywhere plays up to its last whole frame. `end`, or later `WebMRepair`, gives it a duration and an index.
package struct WebMWriter {
    package typealias Track = WebMTracks.Track

    /// The bytes for a frame.
    package struct Addition: Equatable {
        /// Goes into its place first; nil for none.
        package let patch: WebMPatch?
        /// Is appended right before the frame's own bytes.
        package let head: [UInt8]
    }

    /// Another cluster begins after this time, so that readers need not search far: with a picture that comes about as long after the one
    /// before as that did after its own. Chromium, where a page feeds it (Media Source Extensions), takes a cluster's last picture to be no
    /// longer than others before. Otherwise it finds a gap there, and leaves out all up to the next keyframe.
    static let usualCluster: Int64 = 5000
    /// Another one begins in any case, so that the times in it fit into 16 bits.
    static let longestCluster: Int64 = 20_000
    /// An element that says that nothing has happened for another second.
    static let beat: [UInt8] = [UInt8(MatroskaID.void.rawValue), 0x80]

    private let layout: WebMHead
    private var cues = WebMCues()
    private var cluster: (offset: UInt64, timestamp: Int64)?
    private var tail: WebMTail?
    /// Of the last frame of each track, in ms.
    private var lastPicture: Int64 = -1
    private var lastSound: Int64 = -1
    /// Between the last two pictures.
    private var lastGap: Int64 = 0
    /// The length of the file.
    package private(set) var position: UInt64

    /// - Parameters:
    ///   - title: shown by players; nil for none.
    ///   - date: of the first frame, in seconds since 1970, UTC.
    /// - Returns: `head`, the first bytes of the file.
    package static func begin(_ tracks: WebMTracks, title: String?, date: Double) -> (writer: WebMWriter, head: [UInt8])
    {
        let (layout, head) = WebMHead.make(tracks, title: title, date: date)
        return (WebMWriter(layout: layout, position: layout.endAt), head)
    }

    private init(layout: WebMHead, position: UInt64) { (self.layout, self.position) = (layout, position) }

    /// Adds a frame.
    ///
    /// - Parameters:
    ///   - time: since the beginning of the file. A time before that of the last frame of the track counts as just after it.
    ///   - isKeyframe: of a picture. The first frame of a file must be one.
    package mutating func add(_ frame: [UInt8], to track: Track, at time: Duration, isKeyframe: Bool) -> Addition {
        let before = lastPicture
        let time = advance(track, to: Int64((time / .milliseconds(1)).rounded()))
        var head = EBMLWriter()
        var patch: WebMPatch?
        let opensCluster = isKeyframe && track == .picture
        if opensCluster || isClusterDue(track, time, gap: time - before) {
            patch = closedCluster
            if opensCluster { cues.add(time, at: position - layout.contentAt) }
            cluster = (position, time)
            head.openMaster(.cluster)
            head.unsigned(.timestamp, UInt64(time))
        }
        let block = WebMBlock(track, at: time - cluster!.timestamp, isKeyframe: isKeyframe || track == .sound)
        let offset = position + UInt64(head.bytes.count)
        block.writeSimple(frameLength: frame.count, into: &head)
        position += UInt64(head.bytes.count + frame.count)
        if track == .picture { lastGap = time - before }
        switch track {
        case .picture: tail = WebMTail(block, frame, time: time, at: offset)
        case .sound: tail?.append(head.bytes, frame)
        }
        return Addition(patch: patch, head: head.bytes)
    }

    private func isClusterDue(_ track: Track, _ time: Int64, gap: Int64) -> Bool {
        guard let cluster else { return true }
        let age = time - cluster.timestamp
        if age >= Self.longestCluster { return true }
        return age >= Self.usualCluster && track == .picture && lastGap <= 2 * gap && gap <= 2 * lastGap
    }

    /// Another second without a frame has passed. Returns bytes to append. So a file that is torn off has the length that it was shown for.
    package mutating func addBeat() -> [UInt8] {
        guard cluster != nil else { return [] }
        position += UInt64(Self.beat.count)
        tail?.append(Self.beat, [])
        return Self.beat
    }

    /// Ends the file.
    ///
    /// - Parameter time: since the beginning of the file, until which the last picture is shown.
    /// - Returns: bytes for the end of the file, from an offset on, and then for other places.
    package mutating func end(at time: Duration) -> WebMEnd? {
        guard let cluster else { return nil }
        let time = max(Int64((time / .milliseconds(1)).rounded()), lastPicture + 1, lastSound + 20)
        return WebMEnd(
            layout,
            cues,
            tail: tail,
            cluster: cluster.offset,
            position: position,
            duration: time
        )
    }

    /// The size of the open cluster, which ends here.
    private var closedCluster: WebMPatch? {
        cluster.map { WebMCluster.size(at: $0.offset, until: position) }
    }

    private mutating func advance(_ track: Track, to time: Int64) -> Int64 {
        switch track {
        case .picture:
            lastPicture = max(time, lastPicture + 1, 0)
            return lastPicture
        case .sound:
            // A decoder takes the packets of one millisecond for one.
            lastSound = max(time, lastSound + 1, 0)
            return lastSound
        }
    }
}

enum WebMCluster {
    /// The patch that gives a cluster of unknown size its size.
    static func size(at offset: UInt64, until end: UInt64) -> WebMPatch {
        let contentAt = offset + 4 + UInt64(EBMLWriter.openSizeLength)
        let size = EBMLWriter.size(Int(end - contentAt), length: EBMLWriter.openSizeLength)
        return WebMPatch(offset: offset + 4, bytes: size)
    }
}

/// The index of a file: the clusters that begin with a keyframe.
struct WebMCues {
    private var entries: [(time: Int64, place: UInt64)] = []

    /// - Parameters:
    ///   - time: ms.
    ///   - place: of the cluster, in the segment.
    mutating func add(_ time: Int64, at place: UInt64) { entries.append((time, place)) }

    var isEmpty: Bool { entries.isEmpty }

    /// Empty without entries.
    var bytes: [UInt8] {
        if entries.isEmpty { return [] }
        var file = EBMLWriter()
        file.master(.cues) { cues in
            for (time, place) in entries {
                cues.master(.cuePoint) { point in
                    point.unsigned(.cueTime, UInt64(time))
                    point.master(.cueTrackPositions) { positions in
                        positions.unsigned(.cueTrack, WebMTracks.Track.picture.rawValue)
                        positions.unsigned(.cueClusterPosition, place)
                    }
                }
            }
        }
        return file.bytes
    }
}
