import Posix
import Synchronization
import Time

/// One generation's file of sound, opened for reading. Nothing here trusts the file: a block is copied first, and
/// checked afterwards.
final class SoundFile {
    /// When its writer began it, according to the file.
    let startedAt: UInt64
    let ring: OpenedRing
    private let mapping: Mapping
    private let copy: UnsafeMutableRawBufferPointer

    private init(_ ring: consuming OpenedRing, _ mapping: Mapping, startedAt: UInt64) {
        self.ring = ring
        self.mapping = mapping
        self.startedAt = startedAt
        copy = .allocate(byteCount: SoundLayout.slotBytes, alignment: 64)
    }

    deinit { copy.deallocate() }

    /// Opens the newest generation of a ring that is readable and not retired; nil if there is none.
    ///
    /// - Parameter known: generations to leave out.
    /// - Throws: the fault of another generation, if none is readable.
    static func newest(
        of ring: String,
        in directory: BridgeDirectory,
        but known: [UInt64]
    ) throws(BridgeError) -> SoundFile? {
        var newest: SoundFile?
        var problem: BridgeError?
        for name in directory.fileNames() {
            guard let generation = RingFile.generation(of: name, in: ring), !known.contains(generation) else {
                continue
            }
            do throws(BridgeError) {
                guard let file = try open(name, generation, in: directory) else { continue }
                if newest.map({ $0.startedAt < file.startedAt }) ?? true { newest = file }
            } catch { problem = error }
        }
        if newest == nil, let problem { throw problem }
        return newest
    }

    private static func open(
        _ name: String,
        _ generation: UInt64,
        in directory: BridgeDirectory
    ) throws(BridgeError) -> SoundFile? {
        let path = directory.path(of: name)
        guard let opened = try OpenedRing(.sound, at: name, in: directory) else { return nil }
        guard opened.header.generation == generation else { throw .damaged(path: path, problem: "generation") }
        let mapping = try opened.map()
        guard let startedAt = mapping.guarded({ mapping.load64(SoundLayout.Header.startedAt) }) else {
            throw .damaged(path: path, problem: "shrunk while it was read")
        }
        let file = SoundFile(opened, mapping, startedAt: startedAt)
        return file.isRetired ? nil : file
    }

    var generation: UInt64 { ring.header.generation }

    /// The number of the newest block, according to the file; 0 if there is none.
    var head: UInt64 { mapping.guarded { mapping.loadAcquiring64(Layout.Header.latest) } ?? 0 }

    /// The writer's last heartbeat.
    var heartbeat: Instant? {
        mapping.guarded { mapping.loadAcquiring64(Layout.Header.heartbeat) }.flatMap { Instant(stored: $0) }
    }

    /// Sound captured before this instant must not be heard any more.
    var horizon: Instant? { mapping.horizon }

    /// Whether its writer has ended it.
    var isRetired: Bool {
        let state = mapping.guarded { mapping.loadAcquiring32(Layout.Header.state) }
        return state == BroadcastState.retired.rawValue
    }

    /// Copies the block of a number, or the newest for nil, and checks it.
    ///
    /// - Returns: the block if it is whole. Its samples stand in `samples`.
    func read(_ number: UInt64?) throws(Malformed) -> (outcome: SoundReading.Outcome, block: SoundBlock?) {
        guard let outcome = mapping.guarded({ perform(SoundReading(of: number)) }) else { throw .shrunk }
        guard case .whole(let number) = outcome else { return (outcome, nil) }
        // After a cut, the rest of the file's last page reads as zeros, without a fault.
        guard ring.isLongEnough else { throw .shrunk }
        let bytes = UnsafeRawBufferPointer(copy).bytes
        return (outcome, try SoundBlock(checking: bytes, generation: generation, number: number))
    }

    /// The samples that were copied last.
    ///
    /// - Parameter channels: 1 or 2.
    func withSamples(_ channels: Int, _ body: (Span<Int16>) -> Void) {
        let count = SoundBlock.samples * channels
        let bytes = UnsafeRawBufferPointer(rebasing: copy[SoundLayout.Slot.samples...].prefix(count * 2))
        bytes.withMemoryRebound(to: Int16.self) { body($0.span) }
    }

    private func perform(_ reading: consuming SoundReading) -> SoundReading.Outcome {
        var reading = reading
        var step = reading.next()
        while true {
            switch step {
            case .load(let word): step = reading.next(mapping.loadAcquiring64(ring.header.offset(of: word)))
            case .loadRelaxed(let word): step = reading.next(mapping.load64(ring.header.offset(of: word)))
            case .fence:
                atomicMemoryFence(ordering: .acquiring)
                step = reading.next()
            case .copy(let slot):
                let start = mapping.base + ring.header.slotOffset(slot)
                copy.copyMemory(from: UnsafeRawBufferPointer(start: start, count: copy.count))
                step = reading.next()
            case .end(let outcome): return outcome
            }
        }
    }

    /// Sleeps until there is a block after `seen`, or another change; at the longest until `deadline`, or for a second.
    ///
    /// - Parameter bell: a bell, and its count of rings. A further ring ends the sleep.
    func wait(after seen: UInt64, or bell: (Bell, UInt32)?, until deadline: Instant) {
        guard let word = wakeWord(after: seen) else { return }
        let deadline = min(deadline, MonotonicClock.now() + FrameReader.longestWait)
        mapping.wait(Layout.Header.wake, while: word, or: bell, until: deadline)
    }

    /// The word to sleep on, as in `wait`; nil if there is something to read, or a successor to look for.
    func word(after seen: UInt64) -> WakeWord? {
        wakeWord(after: seen).map { WakeWord(mapping, Layout.Header.wake, value: $0) }
    }

    private func wakeWord(after seen: UInt64) -> UInt32? {
        let word = mapping.guarded { Waiting(after: seen).wakeWord(in: mapping, ring.header) } ?? nil
        // The state is read after the wake word. So a writer that retires the file later ends the sleep.
        return isRetired ? nil : word
    }
}
