package import Containers
package import Control
package import Time

/// Decides what of a sender's feed goes into which file. Sans-IO: messages and instants come from outside, and actions go out.
package struct RecordingEngine {
    package enum Action: Equatable {
        /// Begin a file, whose first picture has a date, in seconds since 1970, UTC.
        case open(date: Double)
        /// Two parts of one element.
        case append([UInt8], [UInt8])
        case patch(WebMPatch)
        /// The open file is complete.
        case close(WebMEnd)
        /// The sender is to send a keyframe soon.
        case requestKeyframe
        case tell(News)
    }

    package enum News: Equatable {
        /// The sender, or this machine, was too slow, so that as many pictures are missing.
        case dropped(Int)
        /// A keyframe that no decoder can read.
        case unreadable
    }

    package struct Settings {
        /// A file ends at the next keyframe once it is as long; nil for no limit.
        package var segmentTime: Duration?
        /// Bytes.
        package var segmentSize: UInt64?
        /// Shown by players.
        package var title = ""

        package init() {}
    }

    /// Without a picture for longer, the time between is part of no file. Senders repeat a still one each 2 s.
    static let longestGap = Duration.seconds(5)
    /// How long the last picture is shown if nobody says what came after it.
    static let lastShown = Duration.milliseconds(100)
    /// A player that seeks decodes from the keyframe before. So there is one after this time and as many bytes: none for a picture at rest.
    static let keyframeTime = Duration.seconds(30)
    static let keyframeBytes = 1 << 20
    private static let beatTime = Duration.seconds(1)
    /// A request for a keyframe may be lost.
    static let requestTime = Duration.seconds(2)

    private let settings: Settings
    /// The date of `Instant.start`, in seconds since 1970, UTC. It moves when a person sets the clock, or the machine sleeps.
    package var epoch: Double
    private var file: OpenFile?
    /// When anything was written last.
    private var writtenAt = Instant.start
    /// Whether a person wants a recording now.
    private var isOn = true
    /// Whether no file can be begun for now.
    private var isBlocked = false
    /// Whether the broadcast is paused.
    private var isPaused = false
    private var offersSound = false
    /// Whether pictures before the next keyframe cannot be decoded, or belong to no file.
    private var needsKeyframe = true
    /// When a keyframe was asked for; nil since the last one.
    private var requestedAt: Instant?
    /// Whether the next keyframe begins a file.
    private var mustCut = false
    private var actions: [Action] = []

    package init(_ settings: Settings, epoch: Double) { (self.settings, self.epoch) = (settings, epoch) }

    package mutating func takeActions() -> [Action] { exchange(&actions, with: []) }

    /// When to call `turn`; nil if only messages change anything.
    package var deadline: Instant? { file.map { _ in writtenAt + Self.beatTime } }

    package var isWriting: Bool { file != nil }

    package var state: RecorderSnapshot.State {
        if file != nil { return .recording }
        return !isOn ? .paused : isBlocked ? .blocked : .waiting
    }

    /// Of the open file; 0 without one.
    package var bytes: UInt64 { file?.length ?? 0 }

    /// Of the open file; zero without one.
    package var length: Duration { file.map { $0.lastPicture - $0.start } ?? .zero }

    // MARK: - Commands

    package mutating func pause(at now: Instant) {
        isOn = false
        finish(at: now)
    }

    package mutating func resume(at now: Instant) {
        if !isOn { requestKeyframe(at: now) }
        isOn = true
    }

    /// Goes on in another file as soon as there is a keyframe.
    package mutating func cut(at now: Instant) {
        guard file != nil, !mustCut else { return }
        mustCut = true
        requestKeyframe(at: now)
    }

    package mutating func end(at now: Instant) { finish(at: now) }

    /// The open file can no longer be written. Another one begins after `fileMayBegin`.
    package mutating func fileFailed() {
        file = nil
        isBlocked = true
    }

    package mutating func fileMayBegin(at now: Instant) {
        isBlocked = false
        requestKeyframe(at: now)
    }

    // MARK: - The feed

    package mutating func take(_ message: FeedMessage, at now: Instant) {
        switch message {
        case .begin(_, let offersSound):
            self.offersSound = offersSound
            needsKeyframe = true
            requestKeyframe(at: now)
        case .picture(let picture, let bytes): take(picture, bytes, at: now)
        case .sound(let packet, let instant): take(sound: packet, at: instant, now: now)
        case .horizon: break
        case .paused(let isPaused, let since):
            self.isPaused = isPaused
            if isPaused { finish(at: min(since, now)) } else { requestKeyframe(at: now) }
        case .dropped(let count):
            needsKeyframe = true
            actions.append(.tell(.dropped(count)))
        }
    }

    /// The sender has gone. The file goes on if another one comes soon.
    package mutating func feedEnded() { (needsKeyframe, requestedAt) = (true, nil) }

    package mutating func turn(at now: Instant) {
        guard var file, now >= writtenAt + Self.beatTime else { return }
        guard now - file.lastPicture < Self.longestGap else {
            return finish(at: file.lastPicture + Self.lastShown)
        }
        let silence = file.fillSilence(at: now)
        write(silence.isEmpty ? file.addBeat() : silence, at: now)
        self.file = file
    }

    private mutating func take(_ picture: FeedPicture, _ bytes: [UInt8], at now: Instant) {
        if picture.isKeyframe { requestedAt = nil }
        // A sender that was taken over may tell any instant.
        guard isOn, !isPaused, !isBlocked, picture.shownAt <= now + Self.longestGap else {
            needsKeyframe = true
            return
        }
        if picture.isKeyframe { needsKeyframe = false }
        guard !needsKeyframe else { return requestKeyframe(at: now) }
        if let file, let end = end(of: file, before: picture) {
            guard picture.isKeyframe else { return requestKeyframe(at: now) }
            finish(at: end)
        }
        if file == nil {
            guard picture.isKeyframe else {
                needsKeyframe = true
                return requestKeyframe(at: now)
            }
            open(with: picture, bytes)
        }
        guard var file else { return }
        write(file.add(picture, bytes), at: now)
        if isDue(file, at: picture.shownAt) { requestKeyframe(at: now) }
        self.file = file
    }

    private mutating func take(sound packet: [UInt8], at instant: Instant, now: Instant) {
        guard isOn, !isPaused, var file, instant <= now + Self.longestGap else { return }
        guard file.hasSound else {
            // The broadcast had none when the file began.
            offersSound = true
            return cut(at: now)
        }
        write(file.add(sound: packet, at: instant), at: now)
        self.file = file
    }

    // MARK: - Files

    /// When a file ends because of the picture that comes next; nil if it goes on. It may have to wait for a keyframe.
    private func end(of file: OpenFile, before picture: FeedPicture) -> Instant? {
        guard .zero...Self.longestGap ~= picture.shownAt - file.lastPicture else {
            return file.lastPicture + Self.lastShown
        }
        let isOther = picture.codec != file.first.codec
        return isOther || picture.isKeyframe && (mustCut || isFull(file, at: picture.shownAt)) ? picture.shownAt : nil
    }

    private func isFull(_ file: OpenFile, at now: Instant) -> Bool {
        settings.segmentTime.map { now - file.start >= $0 } ?? false
            || settings.segmentSize.map { file.length >= $0 } ?? false
    }

    /// Whether a file needs a keyframe.
    private func isDue(_ file: OpenFile, at now: Instant) -> Bool {
        let (bytes, since) = file.sinceKeyframe
        return isFull(file, at: now) || bytes > Self.keyframeBytes && now - since > Self.keyframeTime
    }

    private mutating func open(with picture: FeedPicture, _ bytes: [UInt8]) {
        let date = epoch + Double(picture.shownAt.nanoseconds) / 1e9
        mustCut = false
        file = OpenFile(first: picture, bytes, hasSound: offersSound, title: settings.title, date: date)
        guard let file else { return actions.append(.tell(.unreadable)) }
        actions += [.open(date: date), .append(file.head, [])]
    }

    private mutating func finish(at end: Instant) {
        mustCut = false
        guard var file = file.take() else { return }
        let end = max(end, file.lastPicture)
        guard let (writes, whole) = file.end(at: end) else { return }
        write(writes, at: writtenAt)
        actions.append(.close(whole))
    }

    private mutating func write(_ writes: [OpenFile.Write], at now: Instant) {
        for write in writes {
            switch write {
            case .append(let head, let content): actions.append(.append(head, content))
            case .patch(let patch): actions.append(.patch(patch))
            }
        }
        writtenAt = now
    }

    private mutating func requestKeyframe(at now: Instant) {
        if let requestedAt, now < requestedAt + Self.requestTime { return }
        actions.append(.requestKeyframe)
        requestedAt = now
    }
}
