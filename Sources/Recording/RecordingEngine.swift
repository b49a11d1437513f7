package import Containers
package import Control
package import Media
package import Motion
package import Time

/// Decides what of a sender's feed goes into which file. Sans-IO: messages and instants come from outside, and actions go out.
package struct RecordingEngine {
    package enum Action: Equatable {
        /// Begin a file, whose first picture has a date, in seconds since 1970, UTC.
        ///
        /// - `cause`: of the clip that it belongs to; nil where everything is recorded.
        case open(date: Double, cause: ClipTrigger.Cause?)
        /// Two parts of one element.
        case append([UInt8], [UInt8])
        case patch(WebMPatch)
        /// The open file is complete.
        case close(WebMEnd)
        /// The sender is to send a keyframe soon.
        case requestKeyframe
        /// The sender is to send nothing for now.
        case requestPause
        case tell(News)
    }

    package enum News: Equatable {
        /// The sender, or this machine, was too slow, so that as many pictures are missing.
        case dropped(Int)
        /// A keyframe that no decoder can read.
        case unreadable
        /// It comes after the `open` of its file, or before if there is no picture yet.
        case clipBegan(ClipTrigger.Cause)
        /// It comes after the `close` of its last file.
        case clipEnded(ClipTrigger.End)
    }

    package struct Settings {
        /// A file ends at the next keyframe once it is as long; nil for no limit.
        package var segmentTime: Duration?
        /// Bytes.
        package var segmentSize: UInt64?
        /// Shown by players.
        package var title = ""
        /// Nil to record everything.
        package var clips: ClipSettings?
        /// Kept in memory for `replay`; nil for nothing.
        package var replay: Duration?

        package init() {}
    }

    /// Without a picture for longer, the time between is part of no file. Senders repeat a still one each 2 s.
    static let longestGap = Duration.seconds(5)
    /// How long the last picture is shown if nobody says what came after it.
    static let lastShown = Duration.milliseconds(100)
    /// Until the screen is shown again after a pause.
    private static let resumeTime = Duration.seconds(1)
    static let beatTime = Duration.seconds(1)
    /// A request for a keyframe may be lost.
    static let requestTime = Duration.seconds(2)

    var settings: Settings
    /// The date of `Instant.start`, in seconds since 1970, UTC. It moves when a person sets the clock, or the machine sleeps.
    package var epoch: Double
    var file: OpenFile?
    /// When anything was written last.
    var writtenAt = Instant.start
    /// Why a person wants no recording now.
    package enum Hold { case paused, off }

    private(set) var holds: Set<Hold> = []
    /// Whether silence is recorded in place of the sound.
    var isMuted = false
    /// Whether no file can be begun for now.
    private(set) var isBlocked = false
    /// Whether the broadcast is paused.
    private(set) var isPaused = false
    private(set) var offersSound = false
    /// Whether pictures before the next keyframe cannot be decoded, or belong to no file.
    private(set) var needsKeyframe = true
    /// When a keyframe was asked for; nil since the last one.
    private var requestedAt: Instant?
    /// Whether the next keyframe begins a file.
    var mustCut = false
    /// A sender that was taken over, and lies about times, must not fill the folder with files.
    var openings = RateLimit(interval: .seconds(1), slack: .seconds(20), from: .start)
    /// Nil if everything is recorded.
    var clips: ClipWatch?
    var memory: FeedMemory?
    /// What a pause has hidden is no motion when it is over.
    private(set) var changesCountFrom = Instant.start
    var actions: [Action] = []

    package init(_ settings: Settings, epoch: Double) {
        (self.settings, self.epoch) = (settings, epoch)
        beginMemory()
    }

    package mutating func takeActions() -> [Action] { exchange(&actions, with: []) }

    /// When to call `turn`; nil if only messages change anything.
    package var deadline: Instant? {
        earliest(file.map { _ in writtenAt + Self.beatTime }, clips?.deadline)
    }

    package var isWriting: Bool { file != nil }

    /// Whether a file goes on, and waits for nothing.
    var isSteady: Bool { file != nil && !mustCut && !needsKeyframe && requestedAt == nil }

    /// Whether a person wants a recording now.
    var isOn: Bool { holds.isEmpty }

    /// Whether pictures belong into a file now.
    var isWanted: Bool { isOn && (clips?.isRunning ?? true) }

    package func state(at now: Instant) -> RecorderSnapshot.State {
        if file != nil { return .recording }
        if !isOn { return holds.contains(.off) ? .off : .paused }
        if isBlocked { return .blocked }
        guard let clips, !clips.isRunning else { return .waiting }
        return clips.isBlind(at: now) ? .blind : .armed
    }

    /// Of the open file; 0 without one.
    package var bytes: UInt64 { file?.length ?? 0 }

    /// Of the open file; zero without one.
    package var length: Duration { file.map { max(.zero, $0.lastPicture - $0.start) } ?? .zero }

    // MARK: - Commands

    package mutating func hold(_ reason: Hold, at now: Instant) {
        holds.insert(reason)
        stopClip(.off, at: now)
        finish(at: now)
        forget()
    }

    package mutating func release(_ reason: Hold, at now: Instant) {
        guard holds.remove(reason) != nil, isOn else { return }
        requestKeyframe(at: now)
        beginChanges(at: now)
    }

    /// Goes on in another file as soon as there is a keyframe.
    package mutating func cut(at now: Instant) {
        guard file != nil, !mustCut else { return }
        mustCut = true
        requestKeyframe(at: now)
    }

    package mutating func end(at now: Instant) {
        stopClip(.ended, at: now)
        finish(at: now)
    }

    /// The open file can no longer be written. Another one begins after `fileMayBegin`.
    package mutating func fileFailed() {
        file = nil
        isBlocked = true
    }

    package mutating func fileMayBegin(at now: Instant) {
        isBlocked = false
        if isWanted { requestKeyframe(at: now) }
    }

    // MARK: - The feed

    package mutating func take(_ message: FeedMessage, at now: Instant) {
        switch message {
        case .begin(_, let offersSound):
            self.offersSound = offersSound
            // A sender of a paused broadcast tells so next.
            (needsKeyframe, isPaused) = (true, false)
            clips?.learn(from: now)
            if isOn { requestKeyframe(at: now) } else { actions.append(.requestPause) }
        case .picture(let picture, let bytes): take(picture, bytes, at: now)
        case .sound(let packet, let instant): take(sound: packet, at: instant, now: now)
        case .changed(let change, let instant): take(change, at: instant, now: now)
        case .horizon(let horizon): memory?.forget(before: horizon)
        case .paused(let isPaused, let since): take(isPaused: isPaused, since: min(since, now), at: now)
        case .dropped(let count):
            needsKeyframe = true
            actions.append(.tell(.dropped(count)))
        case .question: break
        }
    }

    /// The sender has gone. The file goes on if another one comes soon.
    package mutating func feedEnded() { (needsKeyframe, requestedAt) = (true, nil) }

    /// The machine was suspended, and the clock of the feed stood still: what comes is another file.
    package mutating func slept(at now: Instant) {
        if let file { finish(at: file.lastPicture + Self.lastShown) }
        memory?.forget()
        needsKeyframe = true
        requestKeyframe(at: now)
    }

    package mutating func turn(at now: Instant) {
        turnClips(at: now)
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
        guard isOn, !isPaused, picture.shownAt <= now + Self.longestGap else {
            needsKeyframe = true
            return
        }
        if picture.isKeyframe { needsKeyframe = false }
        guard !needsKeyframe else { return requestKeyframe(at: now) }
        // It may have waited, and what was shown before the end of a clip belongs to that.
        turnClips(at: min(now, picture.shownAt))
        remember(picture, bytes, at: now)
        if isWanted, !isBlocked { write(picture, bytes, at: now) }
    }

    private mutating func write(_ picture: FeedPicture, _ bytes: [UInt8], at now: Instant) {
        if let file, let end = end(of: file, before: picture) {
            guard picture.isKeyframe else { return requestKeyframe(at: now) }
            finish(at: end)
        }
        if file == nil {
            guard picture.isKeyframe, openings.earliest <= now else {
                needsKeyframe = true
                return requestKeyframe(at: now)
            }
            openings.note(at: now)
            open(with: picture, bytes, from: picture.shownAt)
        }
        guard var file else { return }
        write(file.add(picture, bytes), at: now)
        if isDue(file, at: picture.shownAt) { requestKeyframe(at: now) }
        self.file = file
    }

    private mutating func take(sound packet: [UInt8], at instant: Instant, now: Instant) {
        guard isOn, !isPaused, !isMuted, instant <= now + Self.longestGap else { return }
        memory?.add(sound: packet, at: instant)
        offersSound = true
        guard var file else { return }
        // The broadcast had none when the file began.
        guard file.hasSound else { return cut(at: now) }
        write(file.add(sound: packet, at: instant), at: now)
        self.file = file
    }

    private mutating func take(isPaused: Bool, since: Instant, at now: Instant) {
        self.isPaused = isPaused
        guard isPaused else {
            beginChanges(at: now)
            return requestKeyframe(at: now)
        }
        forget()
        stopClip(.paused, at: since)
        finish(at: since)
    }

    /// What is not recorded, or a pause hides, is in no later file.
    private mutating func forget() {
        memory?.forget()
        clips?.forget()
    }

    private mutating func beginChanges(at now: Instant) {
        changesCountFrom = now + Self.resumeTime
        clips?.learn(from: now)
    }

    mutating func requestKeyframe(at now: Instant) {
        if let requestedAt, now < requestedAt + Self.requestTime { return }
        actions.append(.requestKeyframe)
        requestedAt = now
    }
}
