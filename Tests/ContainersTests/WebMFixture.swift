import Containers
import Media
import TestSupport
import Time

/// A file in memory, as `WebMWriter` wants it written.
struct WebMFixture {
    static let tracks = WebMTracks(codec: .vp8, dimensions: (1280, 720), av1: nil, sound: nil)
    static let tracksWithSound = WebMTracks(
        codec: .vp8,
        dimensions: (1280, 720),
        av1: nil,
        sound: OpusHead(channels: 2)
    )

    var writer: WebMWriter
    var bytes: [UInt8]
    /// The frames in it, in order.
    private(set) var frames: [WebMReading.Frame] = []
    /// Where each of them ends.
    private var ends: [Int] = []

    init(_ tracks: WebMTracks = Self.tracks, title: String? = nil) {
        (writer, bytes) = WebMWriter.begin(tracks, title: title, date: 1_000_000_000)
    }

    mutating func add(_ frame: [UInt8], _ track: WebMTracks.Track, at time: Double, isKeyframe: Bool = false) {
        let addition = writer.add(frame, to: track, at: .seconds(time), isKeyframe: isKeyframe)
        if let patch = addition.patch { apply(patch) }
        bytes += addition.head + frame
        ends.append(bytes.count)
        let isKey = isKeyframe || track == .sound
        frames.append(
            WebMReading.Frame(track: track, ms: Int((time * 1000).rounded()), isKeyframe: isKey, bytes: frame)
        )
    }

    /// Those that are whole in the first bytes.
    func frames(in length: Int) -> [WebMReading.Frame] { Array(frames.prefix(ends.count { $0 <= length })) }

    mutating func beat() { bytes += writer.addBeat() }

    mutating func end(at time: Double) { if let end = writer.end(at: .seconds(time)) { apply(end) } }

    mutating func apply(_ end: WebMEnd) {
        bytes = Array(bytes[..<Int(end.offset)]) + end.bytes
        for patch in end.patches { apply(patch) }
    }

    private mutating func apply(_ patch: WebMPatch) {
        bytes.replaceSubrange(Int(patch.offset)..<Int(patch.offset) + patch.bytes.count, with: patch.bytes)
    }

    /// Pictures, and sound if it has a track, of a seed.
    static func random(_ seed: UInt64, hasSound: Bool, seconds: Double, largest: Int = 200) -> WebMFixture {
        var random = SplitMix(seed: seed)
        var file = WebMFixture(hasSound ? tracksWithSound : tracks)
        var (picture, sound, needsKeyframe) = (0.0, 0.0, true)
        while picture < seconds {
            if hasSound, sound < picture {
                file.add((0..<3).map { _ in random.next() }, .sound, at: sound)
                sound += 0.02
                continue
            }
            let frame: [UInt8] = (0..<Int.random(in: 1...largest, using: &random)).map { _ in random.next() }
            file.add(
                frame,
                .picture,
                at: picture,
                isKeyframe: needsKeyframe || Int.random(in: 0..<20, using: &random) == 0
            )
            needsKeyframe = false
            picture += [0.033, 0.1, 1, 2].randomElement(using: &random)!
            if Bool.random(using: &random), !hasSound { file.beat() }
        }
        return file
    }
}

extension SplitMix {
    fileprivate mutating func next() -> UInt8 { UInt8.random(in: 0...255, using: &self) }
}

/// A file as a simple reader finds it, which knows nothing of its writer's habits.
struct WebMReading {
    struct Frame: Equatable {
        let track: WebMTracks.Track
        let ms: Int
        let isKeyframe: Bool
        let bytes: [UInt8]
    }

    private(set) var frames: [Frame] = []
    /// Of the last picture, ms; nil without one.
    private(set) var lastDuration: Int?
    private(set) var duration: Double?
    /// The clusters' times by their places in the segment.
    private(set) var clusters: [UInt64: Int] = [:]
    private(set) var cues: [(ms: Int, place: UInt64)] = []
    /// The elements of the segment by their IDs, and those to which the seek head points.
    private(set) var places: [UInt32: UInt64] = [:]
    private(set) var seekEntries: [UInt32: UInt64] = [:]
    /// Whether each element ends where it should.
    private(set) var isWhole = true

    init(_ bytes: [UInt8]) {
        let top = Self.elements(bytes[...])
        guard let segment = top.first(where: { $0.0.is(.segment) }) else {
            isWhole = false
            return
        }
        let start = segment.1.startIndex
        isWhole = segment.0.size == UInt64(segment.1.count)
        for (element, content) in Self.elements(segment.1) {
            let place = UInt64(content.startIndex - element.headLength - start)
            places[element.id] = place
            if element.is(.cluster) { readCluster(element, content, at: place) }
            if element.is(.cues) { readCues(content) }
            if element.is(.seekHead) { readSeekHead(content) }
            if element.is(.info) {
                duration = Self.find(.duration, in: content).map { Double(bitPattern: EBMLElement.bigEndian($0)) }
            }
        }
    }

    private mutating func readCluster(_ cluster: EBMLElement, _ content: ArraySlice<UInt8>, at place: UInt64) {
        if cluster.size == nil { isWhole = false }
        guard let timestamp = Self.find(.timestamp, in: content) else { return isWhole = false }
        let start = Int(EBMLElement.bigEndian(timestamp))
        clusters[place] = start
        for (element, content) in Self.elements(content) {
            if element.is(.simpleBlock) {
                add(content, start, isKeyframe: content[content.startIndex + 3] & 0x80 != 0)
            } else if element.is(.blockGroup), let block = Self.find(.block, in: content) {
                add(block, start, isKeyframe: Self.find(.referenceBlock, in: content) == nil)
                lastDuration = Self.find(.blockDuration, in: content).map { Int(EBMLElement.bigEndian($0)) }
            }
        }
    }

    private mutating func add(_ block: ArraySlice<UInt8>, _ start: Int, isKeyframe: Bool) {
        let bytes = Array(block)
        let time = Int(Int16(bitPattern: UInt16(bytes[1]) << 8 | UInt16(bytes[2])))
        guard let track = WebMTracks.Track(rawValue: UInt64(bytes[0] & 0x7F)) else { return isWhole = false }
        frames.append(Frame(track: track, ms: start + time, isKeyframe: isKeyframe, bytes: Array(bytes.dropFirst(4))))
    }

    private mutating func readCues(_ content: ArraySlice<UInt8>) {
        for (_, point) in Self.elements(content) {
            guard let time = Self.find(.cueTime, in: point), let positions = Self.find(.cueTrackPositions, in: point),
                let place = Self.find(.cueClusterPosition, in: positions)
            else { return isWhole = false }
            cues.append((Int(EBMLElement.bigEndian(time)), EBMLElement.bigEndian(place)))
        }
    }

    private mutating func readSeekHead(_ content: ArraySlice<UInt8>) {
        for (_, seek) in Self.elements(content) {
            guard let id = Self.find(.seekID, in: seek), let place = Self.find(.seekPosition, in: seek) else {
                continue
            }
            seekEntries[UInt32(EBMLElement.bigEndian(id))] = EBMLElement.bigEndian(place)
        }
    }

    private static func find(_ id: MatroskaID, in bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        elements(bytes).first { $0.0.is(id) }?.1
    }

    /// Ends at the first that is not whole. A cluster without a size ends where the next one, or the cues, begin.
    private static func elements(_ bytes: ArraySlice<UInt8>) -> [(EBMLElement, ArraySlice<UInt8>)] {
        var (found, rest): ([(EBMLElement, ArraySlice<UInt8>)], ArraySlice<UInt8>) = ([], bytes)
        while let element = EBMLElement(rest) {
            let content = rest.dropFirst(element.headLength)
            var size = content.count
            if let known = element.size {
                guard known <= UInt64(content.count) else { break }
                size = Int(known)
            } else if element.is(.cluster) {
                var inside = content
                while let child = EBMLElement(inside), !child.is(.cluster), !child.is(.cues), let length = child.size,
                    length <= UInt64(inside.count - child.headLength)
                {
                    inside = inside.dropFirst(child.headLength + Int(length))
                }
                size = inside.startIndex - content.startIndex
            }
            found.append((element, content.prefix(size)))
            rest = content.dropFirst(size)
        }
        return found
    }
}
