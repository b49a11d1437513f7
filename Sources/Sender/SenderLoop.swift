package import FrameBridge
package import Media
package import Posix
package import Time
package import VideoEncoding

/// The sender's own thread, which carries out the decisions of `SenderEngine`.
package struct SenderLoop: ~Copyable {
    package enum End: Equatable { case interrupted, broadcastStopped, callsEnded }

    /// The time for the last frames of encodes when the sender ends.
    private static let farewellTime = Duration.seconds(1)

    private let renditions: [Rendition]
    private let settings: SenderSettings
    private let sinks: Sinks
    private let report: @Sendable (String) -> Void
    /// By rungs.
    private let preferences: [SharedPreference]
    private var reader: FrameReader
    private let soundReader: SoundReader
    /// The running sound; nil while nobody wants it.
    private var sound: SoundEncode?
    private var soundHasFailed = false
    /// The statistics of earlier threads for the sound.
    private var departedSound = SoundStatistics()
    private var encodes: [Encode] = []
    /// Encodes that were told to stop, until none of their frames can come to the sinks.
    private var ending: [Encode] = []
    /// Encodes that are cut off from the sinks, until their threads have ended.
    private var leaving: [Encode] = []
    /// The sum of the statistics of ended encodes.
    private var departed = SenderStatistics()

    /// - Parameters:
    ///   - renditions: those that sinks may want; at least one, all of one frame rate.
    ///   - sound: of the same broadcast. Only its part that readers share is used.
    package init(
        _ renditions: [Rendition],
        _ settings: SenderSettings,
        reader: consuming FrameReader,
        sound: consuming SoundReader,
        sinks: Sinks,
        report: @escaping @Sendable (String) -> Void
    ) {
        self.renditions = renditions
        self.settings = settings
        self.reader = reader
        soundReader = sound
        self.sinks = sinks
        self.report = report
        preferences = (0...renditions.map(\.rung).max()!).map { _ in SharedPreference(interval: renditions[0].interval)
        }
    }

    /// Runs until a signal comes, the broadcast says `stopped`, or all calls have ended.
    ///
    /// - Parameters:
    ///   - haveCallsEnded: asked again after the sinks' bell was rung.
    ///   - noting: gets the broadcast's condition whenever it changes.
    ///   - also: further work for this thread. Returns when to call it again; nil for not before the sinks' bell was
    ///     rung.
    ///   - eachSecond: gets the statistics about once a second.
    /// - Throws: the encoder's error, if no rendition could ever be encoded.
    package mutating func run(
        until signals: borrowing TerminationSignals,
        orWhen haveCallsEnded: () -> Bool,
        noting note: (BroadcastCondition) -> Void,
        also turn: () -> Instant? = { nil },
        eachSecond: (SenderStatistics) -> Void
    ) throws(VideoEncoderError) -> End {
        let watch = try? WriterWatch(of: reader, orWhenReadable: signals.descriptor.raw, ringing: sinks.bell)
        defer { withExtendedLifetime(watch) {} }
        var engine = SenderEngine(renditions, isWatched: watch != nil, at: MonotonicClock.now())
        var (rings, isRung) = (sinks.bell.count, false)
        while !signals.take() {
            if haveCallsEnded() { return endEncodes(.callsEnded) }
            let othersDeadline = turn()
            let now: Instant = MonotonicClock.now()
            try removeEnded(from: &engine, at: now)
            followSound(at: now)
            var actions = engine.turn(
                wanted: Set(renditions.map(\.id).filter { [sinks] id in sinks.demand(for: id, at: now).isWanted }),
                readings: encodes.map(\.progress.reading),
                preferredCodecs: preferences.map(\.codec),
                at: now
            )
            if engine.mustLook(at: now, isRung: isRung) {
                actions += engine.noteLook(try? reader.liveness(), at: now)
            }
            for action in actions {
                switch action {
                case .begin(let rendition): begin(rendition, &engine, at: now)
                case .end(let id): end(id)
                case .prefer(let rendition): sinks.prefer(rendition)
                case .note(let condition): note(condition)
                case .tell(let sentence): report(sentence)
                case .reportStatistics: eachSecond(statistics)
                case .finish: return endEncodes(.broadcastStopped)
                }
            }
            sinks.bell.wait(while: rings, until: earliest(engine.nextDeadline, othersDeadline))
            let count = sinks.bell.count
            (rings, isRung) = (count, count != rings)
        }
        return endEncodes(.interrupted)
    }

    private var statistics: SenderStatistics {
        var sum = departed
        for encode in leaving + ending + encodes { sum.add(encode.progress.statistics) }
        sum.sound = sound?.statistics.adding(departedSound)
        return sum
    }

    // MARK: - Sound

    private mutating func followSound(at now: Instant) {
        let isWanted = sinks.soundDemand(at: now).isWanted
        if isWanted, sound == nil {
            do {
                sound = try SoundEncode(
                    soundReader.another(),
                    of: reader.another(),
                    sinks: sinks,
                    report: report
                )
            } catch {
                // It is tried again with each turn.
                if !soundHasFailed { report("the sound cannot be sent: \(error)") }
                soundHasFailed = true
            }
        } else if !isWanted, let sound {
            sound.stop()
            departedSound = sound.statistics.adding(departedSound)
            self.sound = nil
        }
    }

    // MARK: - Encodes

    private mutating func begin(_ rendition: Rendition, _ engine: inout SenderEngine, at now: Instant) {
        do {
            let encode = try Encode(
                rendition,
                settings,
                reader: try reader.another(),
                sinks: sinks,
                preference: preferences[rendition.rung]
            )
            encodes.append(encode)
        } catch {
            report(engine.noteNoBeginning(of: rendition.id, error, at: now))
        }
    }

    private mutating func end(_ id: Rendition.ID) {
        for encode in encodes where encode.rendition.id == id {
            encode.stop()
            ending.append(encode)
        }
        encodes.removeAll { $0.rendition.id == id }
        sinks.bell.ring()
    }

    /// Drops the encodes that have ended: the unwanted and the failed ones.
    private mutating func removeEnded(
        from engine: inout SenderEngine,
        at now: Instant
    ) throws(VideoEncoderError) {
        // The rendition may begin again while a stalled encoder still holds its thread.
        for encode in ending where encode.isCutOff {
            ending.removeAll { $0 === encode }
            leaving.append(encode)
            engine.noteEnd(of: encode.rendition.id)
        }
        for encode in leaving where encode.progress.hasEnded {
            leaving.removeAll { $0 === encode }
            departed.add(encode.progress.statistics)
        }
        for encode in encodes {
            let progress = encode.progress
            guard progress.hasEnded, let failure = progress.failure else { continue }
            encodes.removeAll { $0 === encode }
            departed.add(progress.statistics)
            let hasEncoded = statistics.framesEncoded > 0
            report(try engine.noteFailure(of: encode.rendition.id, failure, hasEncoded: hasEncoded, at: now))
        }
    }

    /// Stops all encodes and waits for their last frames, as the sinks are closed afterwards.
    private func endEncodes(_ end: End) -> End {
        sound?.stop()
        for encode in encodes { encode.stop() }
        sinks.bell.ring()
        sinks.bell.wait(until: MonotonicClock.now() + Self.farewellTime) {
            (encodes + ending + leaving).allSatisfy { $0.progress.hasEnded }
        }
        return end
    }
}
