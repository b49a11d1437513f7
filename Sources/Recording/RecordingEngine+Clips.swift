import Containers
package import Control
package import Media
import Motion
package import Time

// Clips, and what is kept in memory for them.
extension RecordingEngine {
    /// A file that is written in one go.
    package struct Replay {
        /// Of its beginning, in seconds since 1970, UTC.
        let date: Double
        let writes: [OpenFile.Write]
        let end: WebMEnd
    }

    mutating func beginMemory() {
        clips = settings.clips.map { ClipWatch($0) }
        let time = max(clips?.memoryTime ?? .zero, settings.replay ?? .zero)
        guard settings.clips != nil || settings.replay != nil else { return memory = nil }
        if memory == nil { memory = FeedMemory(of: time, longestGap: Self.longestGap) } else { memory?.time = time }
    }

    /// While a clip is written, nothing is changed.
    func requireIdle() throws(RecorderRefusal) { if clips?.isRunning ?? false { throw .busy } }

    /// Writes other clips from now on; everything if nil. What is in memory stays there.
    package mutating func change(_ clips: ClipSettings?, at now: Instant) throws(RecorderRefusal) {
        guard clips != settings.clips else { return }
        try requireIdle()
        finish(at: now)
        settings.clips = clips
        beginMemory()
        self.clips?.learn(from: now)
        if isWanted { requestKeyframe(at: now) }
    }

    mutating func remember(_ picture: FeedPicture, _ bytes: [UInt8], at now: Instant) {
        guard memory != nil else { return }
        memory?.add(picture, bytes)
        if memory?.needsKeyframe(at: picture.shownAt) ?? false { requestKeyframe(at: now) }
    }

    // MARK: - Clips

    /// Begins a clip, or makes the one that is written longer.
    package mutating func trigger(at now: Instant) throws(RecorderRefusal) {
        guard clips != nil else { throw .recordsAll }
        try requireOn()
        follow(clips!.command(at: now))
    }

    private func requireOn() throws(RecorderRefusal) {
        if !isOn { throw holds.contains(.off) ? .off : .paused }
    }

    mutating func take(_ change: TileChange, at instant: Instant, now: Instant) {
        guard isOn, !isPaused, now >= changesCountFrom else { return }
        let instant = min(instant, now)
        let date = date(of: instant)
        if let events = clips?.take(change, at: instant, date: date) { follow(events) }
    }

    mutating func turnClips(at now: Instant) {
        let countsChanges = isOn && !isPaused
        if let events = clips?.turn(at: now, countsChanges: countsChanges) { follow(events) }
    }

    mutating func stopClip(_ reason: ClipTrigger.End, at now: Instant) {
        if let events = clips?.stop(reason, at: now) { follow(events) }
    }

    private mutating func follow(_ events: [ClipTrigger.Event]) {
        for event in events {
            switch event {
            case .began(let cause, let instant):
                beginClip(at: instant)
                actions.append(.tell(.clipBegan(cause)))
            case .ended(let reason, let instant):
                finish(at: instant)
                actions.append(.tell(.clipEnded(reason)))
            }
        }
    }

    private mutating func beginClip(at instant: Instant) {
        let preRoll = clips?.preRoll ?? .zero
        let items = memory?.items(from: instant - preRoll) ?? []
        // Without a picture, or a sender that tells what may be shown, it begins with the next keyframe.
        guard !isBlocked, !isPaused, !needsKeyframe, case .picture(let first, let bytes)? = items.first else {
            return requestKeyframe(at: instant)
        }
        open(with: first, bytes, from: max(first.shownAt, instant - preRoll))
        guard var file else { return }
        for item in items { write(file.add(item), at: max(writtenAt, instant)) }
        self.file = file
    }

    // MARK: - Replay

    /// The last time, as a file.
    ///
    /// - Parameter length: everything that is kept for it if nil.
    package func replay(_ length: Duration?, at now: Instant) throws(RecorderRefusal) -> Replay {
        guard let kept = settings.replay, let memory else { throw .keepsNothing }
        try requireOn()
        let begin = now - min(length ?? kept, kept)
        let items = memory.items(from: begin)
        // After the end of a sender, nobody tells what a pause hides.
        guard !isPaused, !needsKeyframe, case .picture(let first, let bytes)? = items.first else { throw .empty }
        let start = max(first.shownAt, begin)
        guard var file = newFile(with: first, bytes, from: start) else { throw .empty }
        var writes = [OpenFile.Write.append(file.head, [])]
        for item in items { writes += file.add(item) }
        guard let (last, end) = file.end(at: max(now, file.lastPicture)) else { throw .empty }
        return Replay(date: date(of: start), writes: writes + last, end: end)
    }
}

extension OpenFile {
    fileprivate mutating func add(_ item: FeedMemory.Item) -> [Write] {
        switch item {
        case .picture(let picture, let bytes): add(picture, bytes)
        case .sound(let packet, let instant): add(sound: packet, at: instant)
        }
    }
}
