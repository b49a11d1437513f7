import Posix
public import Time

/// The writing end of a broadcast's sound, or of the voices of one sender's peers. One thread uses it.
///
/// A writer may be killed at any instruction. Its lock is then free, and the next writer begins a new generation: a
/// file is never written by a second process.
public struct SoundWriter: ~Copyable {
    static let lockFile = "sound.lock"
    static let soundRing = "sound"
    static let talkRing = "talk"
    private static let checkInterval = Duration.milliseconds(500)

    private let place: Place
    /// False for peers' voices, which have one generation: their writer cannot make files any more.
    private let makesFiles: Bool
    /// Nil if another value holds it (`AudioLock`).
    private let lock: FileDescriptor?
    private var ring: SoundRing
    private var horizon: Instant?
    /// Whether the last block was left out.
    private var isBroken = false
    private var checkAt: Instant = MonotonicClock.now() + checkInterval

    /// Begins the sound of a broadcast, with or without a capture process, and clears away the remains of a killed
    /// writer.
    ///
    /// - Parameters:
    ///   - directory: the broadcast's folder.
    ///   - storage: where the sound is stored.
    /// - Throws: `soundAlreadyRunning` when another process holds the lock, `noSpace`, `notPrivate` or `system`.
    public init(in directory: BridgeDirectory, storage: FrameStorage = .file) throws(BridgeError) {
        let lock = try directory.lockSound()
        let place = Place(directory: directory, ring: Self.soundRing, storage: storage)
        self.init(place, try place.beginGeneration(), makesFiles: true, lock: consume lock)
    }

    /// The same, in the process that holds the lock and keeps it. One writer at a time.
    package init(holding lock: borrowing AudioLock) throws(BridgeError) {
        let place = Place(directory: lock.directory, ring: Self.soundRing, storage: .file)
        self.init(place, try place.beginGeneration(), makesFiles: true, lock: nil)
    }

    /// Begins the voices of a sender's peers. Call it once, before the process gives up making files.
    ///
    /// - Throws: `noSpace` or `system`.
    package init(talkIn sender: ProcessFolder) throws(BridgeError) {
        let place = Place(directory: sender.directory, ring: Self.talkRing, storage: .file)
        self.init(place, try place.beginGeneration(), makesFiles: false, lock: nil)
    }

    private init(
        _ place: Place,
        _ generation: (ring: SoundRing, horizon: Instant?),
        makesFiles: Bool,
        lock: consuming FileDescriptor?
    ) {
        self.place = place
        (ring, horizon) = generation
        self.makesFiles = makesFiles
        self.lock = lock
    }

    deinit {
        ring.file.header.setState(.retired)
        place.directory.remove(ring.file.name)
    }

    /// Writes the next 10 ms and wakes the readers. Leaves out sound from before the horizon. A file that was removed
    /// or shrunk is replaced by another generation, if this process may make files.
    ///
    /// - Parameters:
    ///   - samples: 480 for each channel, at 48 kHz. Two channels are interleaved, left before right.
    ///   - channels: 1 or 2.
    ///   - capturedAt: when the first sample was heard.
    ///   - follows: whether the block continues the one before, captured exactly 10 ms earlier.
    /// - Throws: `damaged`, `noSpace` or `system`. Then the block is lost, and the next call tries again.
    public mutating func write(
        _ samples: Span<Int16>,
        channels: Int,
        capturedAt: Instant,
        follows: Bool
    ) throws(BridgeError) {
        precondition(1...SoundLayout.mostChannels ~= channels && samples.count == SoundBlock.samples * channels)
        if let horizon, capturedAt < horizon {
            isBroken = true
            return
        }
        let follows = follows && !isBroken
        isBroken = false
        let block = SoundBlock(number: 0, capturedAt: capturedAt, channels: channels, follows: follows)
        if ring.write(block, samples) { return }
        if makesFiles {
            try beginAgain()
            if ring.write(block, samples) { return }
        }
        throw .damaged(path: place.directory.path(of: ring.file.name), problem: "shrunk while it was written")
    }

    /// Shows the readers that the writer lives. Call it at least once a second, also in silence. Now and then it also
    /// replaces a file that was removed or shrunk.
    public mutating func heartbeat() { heartbeat(at: MonotonicClock.now()) }

    mutating func heartbeat(at now: Instant) {
        ring.file.header.heartbeat()
        guard makesFiles, now >= checkAt else { return }
        checkAt = now + Self.checkInterval
        if !ring.file.isInPlace(in: place.directory) { try? beginAgain() }
    }

    /// Forbids readers to play sound captured before an instant, and erases it.
    public mutating func hide(before instant: Instant) {
        let horizon = max(horizon ?? instant, instant)
        self.horizon = horizon
        ring.file.header.setHorizon(horizon)
        ring.erase(before: horizon)
    }

    private mutating func beginAgain() throws(BridgeError) {
        (ring, horizon) = try place.beginGeneration(after: ring, horizon: horizon)
    }
}

/// A ring, with the common properties of its generations.
private struct Place {
    let directory: BridgeDirectory
    let ring: String
    let storage: FrameStorage

    /// Makes a generation, and only then retires and removes the one before, of this writer or of a killed one. So
    /// readers find a successor as soon as they look for one.
    ///
    /// - Parameters:
    ///   - former: this writer's generation before.
    ///   - horizon: this writer's own one. The horizon of an earlier writer counts too.
    func beginGeneration(
        after former: SoundRing? = nil,
        horizon: Instant? = nil
    ) throws(BridgeError) -> (SoundRing, Instant?) {
        let names = directory.fileNames()
        let rings = names.filter { RingFile.generation(of: $0, in: ring) != nil }
        var left = rings.compactMap { RingHeader(leftAt: $0, in: directory) }
        let horizon = (left.map(\.horizon) + [horizon]).compactMap { $0 }.max()
        for name in names where RingFile.generation(of: name, in: "." + ring) != nil { directory.remove(name) }
        func retire() {
            for header in left + [former?.file.header].compactMap({ $0 }) { header.setState(.retired) }
            for name in rings { directory.remove(name) }
        }
        let successor: SoundRing
        do {
            successor = try make(horizon: horizon)
        } catch .noSpace {
            // Removed files make room once nobody maps them.
            retire()
            left = []
            successor = try make(horizon: horizon)
        }
        retire()
        return (successor, horizon)
    }

    private func make(horizon: Instant?) throws(BridgeError) -> SoundRing {
        let now: Instant = MonotonicClock.now()
        var next = NewGeneration(directory: directory, state: .active, stateSince: now, horizon: horizon)
        return try SoundRing(ring, in: &next, storage: storage)
    }
}
