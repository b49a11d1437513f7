package import Media
package import Time

/// The clips of a picture: begun by its changes and by commands, as settings say. Sans-IO.
package struct ClipWatch {
    /// Of a clip before what it was begun for.
    package let preRoll: Duration
    private var trigger: ClipTrigger
    /// Nil for clips by command alone.
    private var watch: ChangeWatch?

    package init(_ settings: ClipSettings) {
        preRoll = .seconds(settings.preRollS)
        trigger = ClipTrigger(ClipTrigger.Times(settings))
        watch = settings.sensitivity.flatMap { MotionSensitivity($0) }.map { sensitivity in
            let zones = settings.zones.map { MotionZone(x: $0.x, y: $0.y, width: $0.width, height: $0.height) }
            return ChangeWatch(sensitivity, zones: zones)
        }
    }

    /// How long what is shown must be kept for a clip that begins later. A change that waits to become a tick is that much older when it counts.
    package var memoryTime: Duration { preRoll + (watch == nil ? .zero : ChangeWatch.patience) }

    package var isRunning: Bool { trigger.isRunning }

    /// Of the clip that is written; nil without one.
    package var cause: ClipTrigger.Cause? { trigger.cause }

    package func isBlind(at now: Instant) -> Bool { trigger.isBlind(at: now) }

    /// When to call `turn`; nil if only changes and commands change anything.
    package var deadline: Instant? { [trigger.deadline, watch?.deadline].compactMap(\.self).min() }

    /// The picture begins, or another one.
    package mutating func learn(from now: Instant) { watch?.learn(from: now) }

    /// Forgets the changes so far. A clip goes on.
    package mutating func forget() { watch?.forget() }

    /// - Parameters:
    ///   - instant: when the change was captured; not before that of an earlier call.
    ///   - date: of the instant, in seconds since 1970.
    package mutating func take(_ change: TileChange, at instant: Instant, date: Double) -> [ClipTrigger.Event] {
        let waits = !trigger.isRunning
        guard watch?.take(change, at: instant, date: date, waits: waits) ?? false else { return [] }
        return trigger.motion(at: instant)
    }

    /// - Parameter countsChanges: whether a change that has turned out to be motion counts now.
    package mutating func turn(at now: Instant, countsChanges: Bool) -> [ClipTrigger.Event] {
        let motion = countsChanges ? watch?.turn(at: now) : nil
        return (motion.map { trigger.motion(at: $0) } ?? []) + trigger.turn(at: now)
    }

    /// A person or a program wants a clip, or the one that is running for longer.
    package mutating func command(at now: Instant) -> [ClipTrigger.Event] { trigger.command(at: now) }

    /// Ends a clip for another reason than its time.
    package mutating func stop(_ reason: ClipTrigger.End, at now: Instant) -> [ClipTrigger.Event] {
        trigger.stop(reason, at: now)
    }
}

extension ClipTrigger.Times {
    fileprivate init(_ clips: ClipSettings) {
        self.init()
        (initial, augmentation) = (.seconds(clips.initialS), .seconds(clips.augmentS))
        (maximum, blind) = (.seconds(clips.longestS), .seconds(clips.blindS))
    }
}
