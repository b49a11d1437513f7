import Containers
import Control
import Motion
import Time

// Where files begin and end.
extension RecordingEngine {
    /// A player that seeks decodes from the keyframe before. So there is one after this time and as many bytes: none for a picture at rest.
    private static let keyframeTime = Duration.seconds(30)
    private static let keyframeBytes = 1 << 20

    /// When a file ends because of the picture that comes next; nil if it goes on. It may have to wait for a keyframe.
    func end(of file: OpenFile, before picture: FeedPicture) -> Instant? {
        guard .zero...Self.longestGap ~= picture.shownAt - file.lastPicture else {
            return file.lastPicture + Self.lastShown
        }
        let isOther = picture.codec != file.first.codec
        let isEnough = mustCut || isFull(file, at: picture.shownAt)
        return isOther || picture.isKeyframe && isEnough && openings.earliest <= picture.shownAt ? picture.shownAt : nil
    }

    private func isFull(_ file: OpenFile, at now: Instant) -> Bool {
        settings.segmentTime.map { now - file.start >= $0 } ?? false
            || settings.segmentSize.map { file.length >= $0 } ?? false
    }

    /// Whether a file needs a keyframe.
    func isDue(_ file: OpenFile, at now: Instant) -> Bool {
        let (bytes, since) = file.sinceKeyframe
        return isFull(file, at: now) || bytes > Self.keyframeBytes && now - since > Self.keyframeTime
    }

    /// Begins a file at an instant, which may be later than its first picture.
    mutating func open(with picture: FeedPicture, _ bytes: [UInt8], from start: Instant) {
        mustCut = false
        file = newFile(with: picture, bytes, from: start)
        guard let file else { return actions.append(.tell(.unreadable)) }
        actions += [.open(date: date(of: start), cause: clips?.cause), .append(file.head, [])]
    }

    /// Nil for a keyframe that no decoder reads.
    func newFile(with picture: FeedPicture, _ bytes: [UInt8], from start: Instant) -> OpenFile? {
        let date = date(of: start)
        return OpenFile(
            first: picture,
            bytes,
            from: start,
            hasSound: offersSound,
            title: settings.title,
            date: date
        )
    }

    func date(of instant: Instant) -> Double { epoch + Double(instant.nanoseconds) / 1e9 }

    mutating func finish(at end: Instant) {
        mustCut = false
        guard var file = file.take() else { return }
        let end = max(end, file.lastPicture)
        guard let (writes, whole) = file.end(at: end) else { return }
        write(writes, at: writtenAt)
        actions.append(.close(whole))
    }

    mutating func write(_ writes: [OpenFile.Write], at now: Instant) {
        for write in writes {
            switch write {
            case .append(let head, let content): actions.append(.append(head, content))
            case .patch(let patch): actions.append(.patch(patch))
            }
        }
        writtenAt = now
    }
}
