import Posix
public import Time

/// The writing end of a broadcast's sound, or of what the peers of one sender say; used by one thread.
///
/// A writer may be killed at any instruction. Its lock is then free, and the next writer begins a new generation: a file is
/// never written by a second process.
public struct SoundWriter: ~Copyable {
    static let lockFile = "sound.lock"
    /// The names of the rings.
    static let soundRing = "sound"
    static let talkRing = "talk"
    /// Between two looks after the file.
    private static let checkInterval = Duration.milliseconds(500)

    private let place: Place
    /// False for what peers say, which has one generation: its writer has no files to make any more.
    private let makesFiles: Bool
    /// Nil where somebody else holds it (`AudioLock`).
    private let lock: FileDescriptor?
    /// The present generation.
    private var ring: SoundRing
    private var horizon: Instant?
    /// Whether the last block was left out.
    private var isBroken = false
    private var checkAt: Instant = MonotonicClock.now() + checkInterval

    /// Begins the sound of a broadcast, whether or not that has a capture process, and clears away what a writer that was
    /// killed left behind.
    ///
    /// - Parameters:
    ///   - directory: the broadcast's folder.
    ///   - storage: where the sound lies.
    /// - Throws: `soundAlreadyRunning` when another process holds the lock, `noSpace`, `notPrivate` or `system`.
    public init(in directory: BridgeDirectory, storage: FrameStorage = .file) throws(BridgeError) {
        let lock = try directory.lockSound()
        let place = Place(directory: directory, ring: Self.soundRing, storage: storage)
        self.init(place, try place.beginGeneration(), makesFiles: true, lock: consume lock)
    }

    /// Begins likewise, in the process that holds the lock, which keeps it. One at a time.
    package init(holding lock: borrowing AudioLock) throws(BridgeError) {
        let place = Place(directory: lock.directory, ring: Self.soundRing, storage: .file)
        self.init(place, try place.beginGeneration(), makesFiles: true, lock: nil)
    }

    /// Begins what the peers of a sender say. Once, before the process gives up making files.
    ///
    /// - Throws: `noSpace` or `system`.
    package init(talkIn sender: SenderFolder) throws(BridgeError) {
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

    /// Writes the next 10 ms and wakes the readers; leaves out what was heard before the horizon. A file that somebody removed or
    /// shrank is replaced by another generation, where this process may make files.
    ///
    /// - Parameters:
    ///   - samples: 480 for each channel, at 48 kHz; those of two channels interleaved, left before right.
    ///   - channels: 1 or 2.
    ///   - capturedAt: when the first sample was heard.
    ///   - follows: whether the block continues the one before; then it was captured 10 ms later than that.
    /// - Throws: `damaged`, `noSpace` or `system`; then the block is lost, and the next call tries again.
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

    /// Tells the readers that the writer lives. Call it at least once a second, also while there is nothing to hear. Now and then
    /// it also replaces a file that somebody removed or shrank.
    public mutating func heartbeat() { heartbeat(at: MonotonicClock.now()) }

    mutating func heartbeat(at now: Instant) {
        ring.file.header.heartbeat()
        guard makesFiles, now >= checkAt else { return }
        checkAt = now + Self.checkInterval
        if !ring.file.isInPlace(in: place.directory) { try? beginAgain() }
    }

    /// Forbids readers to let anybody hear what was captured before an instant, and takes it back.
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

/// One of the rings, and what its generations have in common.
private struct Place {
    let directory: BridgeDirectory
    let ring: String
    let storage: FrameStorage

    /// Makes a generation, and only then retires and removes what there was before, of this writer or of one that was killed:
    /// so readers find a successor as soon as they look for one.
    ///
    /// - Parameters:
    ///   - former: this writer's generation before.
    ///   - horizon: of this writer; that of one before it counts too.
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
            // What is removed makes room, once nobody maps it.
            retire()
            left = []
            successor = try make(horizon: horizon)
        }
        retire()
        return (successor, horizon)
    }

    private func make(horizon: Instant?) throws(BridgeError) -> SoundRing {
        var next = NewGeneration(in: directory, state: .active, since: MonotonicClock.now(), horizon: horizon)
        return try SoundRing(ring, in: &next, storage: storage)
    }
}
