import Control
import Time

/// The last pictures and packets of a feed, from a keyframe on. Sans-IO.
///
/// A still screen needs no keyframe for hours: what has come since the last one may be old, but it is little. `needsKeyframe` tells when it
/// becomes much.
struct FeedMemory {
    enum Item {
        case picture(FeedPicture, [UInt8])
        case sound([UInt8], at: Instant)
    }

    /// A keyframe and what depends on it, with the sound meanwhile.
    private struct Group {
        let start: Instant
        /// When the oldest of its pictures left the screen.
        var captureTime: Instant
        var items: [Item] = []
        var pictures = 0
        var bytes = 0
    }

    /// Pictures after a keyframe of which a clip may begin in the middle: each takes a millisecond of it.
    static let mostPictures = 600
    private static let keyframeTime = Duration.seconds(10)
    private static let keyframeBytes = 1 << 20
    /// Beyond the pictures of a second at 8 Mbit/s: a sender that was taken over must not fill the memory.
    private static let bytesPerSecond = 1 << 20
    private static let spareBytes = 8 << 20

    /// What is kept at least.
    var time: Duration
    private let longestGap: Duration
    private var groups: [Group] = []
    private var bytes = 0
    private var last: FeedPicture?

    /// - Parameters:
    ///   - time: what is kept at least.
    ///   - longestGap: between two pictures. After a longer one, what was before is of no use.
    init(of time: Duration, longestGap: Duration) { (self.time, self.longestGap) = (time, longestGap) }

    var isEmpty: Bool { groups.isEmpty }
    var byteCount: Int { bytes }

    /// Keeps a picture, but none that follows no keyframe.
    mutating func add(_ picture: FeedPicture, _ content: [UInt8]) {
        if let last, last.codec != picture.codec || !(.zero...longestGap ~= picture.shownAt - last.shownAt) { forget() }
        if picture.isKeyframe { groups.append(Group(start: picture.shownAt, captureTime: picture.captureTime)) }
        guard var group = groups.popLast() else { return }
        group.captureTime = min(group.captureTime, picture.captureTime)
        group.pictures += 1
        groups.append(group)
        append(.picture(picture, content), content.count)
        last = picture
        trim(at: picture.shownAt)
    }

    mutating func add(sound packet: [UInt8], at instant: Instant) {
        if !groups.isEmpty { append(.sound(packet, at: instant), packet.count) }
    }

    mutating func forget() { (groups, bytes, last) = ([], 0, nil) }

    /// Forgets what was captured before an instant.
    mutating func forget(before horizon: Instant) {
        // What depends on a picture from before shows it.
        if let last = groups.lastIndex(where: { $0.captureTime < horizon }) { remove(last + 1) }
    }

    /// Whether a keyframe would save memory, or bytes of a clip.
    func needsKeyframe(at now: Instant) -> Bool {
        guard let group = groups.last else { return true }
        let isMuch = group.bytes > Self.keyframeBytes || group.pictures > Self.mostPictures
        return isMuch && now - group.start > Self.keyframeTime
    }

    /// Everything that is needed to show what was shown from an instant on. The first item is a keyframe.
    func items(from instant: Instant) -> [Item] {
        let first = groups.lastIndex { $0.start <= instant } ?? 0
        return groups[first...].flatMap(\.items)
    }

    private mutating func append(_ item: Item, _ count: Int) {
        groups[groups.count - 1].items.append(item)
        groups[groups.count - 1].bytes += count
        bytes += count
        let most = Int(time / .seconds(1)) * Self.bytesPerSecond + Self.spareBytes
        while bytes > most { remove(1) }
    }

    private mutating func trim(at now: Instant) {
        if let first = groups.lastIndex(where: { $0.start <= now - time }) { remove(first) }
    }

    private mutating func remove(_ count: Int) {
        bytes -= groups[..<count].reduce(0) { $0 + $1.bytes }
        groups.removeFirst(count)
    }
}
