import Glibc
import Posix
import Synchronization
import Time

/// One generation's frames file, opened for reading.
///
/// Nothing here trusts the file. Metadata is copied and checked. Pixels count only if the slot's sequence number has
/// not changed. A file that shrinks ends in an error instead of a signal.
final class FramesFile {
    private enum Backing {
        case mapped(Mapping)
        /// Read into a private buffer that holds one slot.
        case copied(UnsafeMutableRawBufferPointer)
    }

    let ring: OpenedRing
    private let backing: Backing

    init(_ name: String, in directory: BridgeDirectory, access: FrameReader.Access) throws(BridgeError) {
        guard let ring = try OpenedRing(.frames, at: name, in: directory) else {
            throw .noBroadcast(path: directory.path)
        }
        backing =
            switch access {
            case .mapped: .mapped(try ring.map())
            case .copied: .copied(.allocate(byteCount: ring.header.slotStride, alignment: 64))
            }
        self.ring = ring
    }

    deinit {
        if case .copied(let buffer) = backing { buffer.deallocate() }
    }

    func load64(_ offset: Int) throws(Malformed) -> UInt64 {
        switch backing {
        case .mapped(let mapping):
            guard let value = mapping.guarded({ mapping.loadAcquiring64(offset) }) else { throw .shrunk }
            return value
        case .copied:
            var value: UInt64 = 0
            let count = withUnsafeMutableBytes(of: &value) { try? ring.file.read(into: $0, at: offset) }
            guard count == 8 else { throw .shrunk }
            return value
        }
    }

    /// Nil if the number is not a state.
    var state: BroadcastState? {
        get throws(Malformed) {
            BroadcastState(rawValue: UInt32(truncatingIfNeeded: try load64(Layout.Header.state)))
        }
    }

    /// The state and the time of the last heartbeat.
    func pulse() throws(Malformed) -> (state: BroadcastState?, heartbeat: Instant?) {
        (try state, Instant(stored: try load64(Layout.Header.heartbeat)))
    }

    /// Shows the latest frame to `body`, unless it is `seen`.
    ///
    /// - Parameters:
    ///   - seen: the `latest` word of the frame that was read last; 0 for none.
    ///   - overruns: counts how often the writer was in the way.
    /// - Returns: the word and the metadata of a whole frame.
    func read(
        after seen: UInt64,
        overruns: inout Int,
        _ body: (borrowing Frame) -> Void
    ) throws(Malformed) -> (outcome: Reading.Outcome, info: FrameInfo?) {
        switch backing {
        case .mapped(let mapping):
            let result = mapping.guarded {
                perform(Reading(after: seen, copiesPicture: false), &overruns, body) { offset, isAcquiring in
                    isAcquiring ? mapping.loadAcquiring64(offset) : mapping.load64(offset)
                } slot: {
                    mapping.base + ring.header.slotOffset($0)
                }
            }
            guard let result else { throw .shrunk }
            let read = try result.get()
            // After a cut, the rest of the file's last page reads as zeros, without a fault.
            if case .whole = read.outcome, !ring.isLongEnough { throw .shrunk }
            return read
        case .copied(let buffer):
            return try perform(Reading(after: seen, copiesPicture: true), &overruns, body) { offset, _ in
                try? load64(offset)
            } slot: {
                let count = try? ring.file.read(into: buffer, at: ring.header.slotOffset($0))
                return count == buffer.count ? buffer.baseAddress : nil
            }.get()
        }
    }

    /// Performs the steps of `reading`.
    ///
    /// - Parameters:
    ///   - load: the 64-bit word at an offset; nil if it is gone.
    ///   - slot: the start of a slot, or of a copy of it; nil if it is gone.
    private func perform(
        _ reading: consuming Reading,
        _ overruns: inout Int,
        _ body: (borrowing Frame) -> Void,
        load: (_ offset: Int, _ isAcquiring: Bool) -> UInt64?,
        slot: (Int) -> UnsafeMutableRawPointer?
    ) -> Result<(outcome: Reading.Outcome, info: FrameInfo?), Malformed> {
        var reading = reading
        defer { overruns += reading.overruns }
        return withUnsafeTemporaryAllocation(byteCount: Layout.Slot.metadataBytes, alignment: 8) { copy in
            var base: UnsafeMutableRawPointer?
            var shown: FrameInfo?
            var step = reading.next()
            while true {
                switch step {
                case .load(let word), .loadRelaxed(let word):
                    let offset = ring.header.offset(of: word)
                    guard let value = load(offset, step == .load(word)) else { return .failure(.shrunk) }
                    step = reading.next(value)
                case .fence:
                    atomicMemoryFence(ordering: .acquiring)
                    step = reading.next()
                case .copy(let index):
                    base = slot(index)
                    guard let base else { return .failure(.shrunk) }
                    copy.copyMemory(from: UnsafeRawBufferPointer(start: base, count: copy.count))
                    step = reading.next(copy.load(fromByteOffset: Layout.Slot.frameNumber, as: UInt64.self))
                case .show:
                    do throws(Malformed) {
                        let bytes = UnsafeRawBufferPointer(copy).bytes
                        var metadata = try SlotMetadata(checking: bytes, slotBytes: ring.header.slotStride)
                        metadata.info.generation = ring.header.generation
                        body(Frame(base: base!, metadata: metadata))
                        shown = metadata.info
                    } catch {
                        return .failure(error)
                    }
                    step = reading.next()
                case .end(let outcome): return .success((outcome, shown))
                }
            }
        }
    }

    /// Sleeps until there is a newer frame than `seen`, or another change; at the longest until `deadline`, or for a
    /// second. In copied mode it always sleeps that long.
    ///
    /// - Parameters:
    ///   - seen: the `latest` word of the frame that was read last; 0 for none.
    ///   - bell: a bell, and its count of rings. A further ring ends the sleep.
    func wait(after seen: UInt64, or bell: (Bell, UInt32)? = nil, until deadline: Instant) {
        guard let word = wakeWord(after: seen) else { return }
        // The state is read after the wake word. So a writer that retires the frames later ends the sleep.
        let longest = (try? state) == .retired ? FrameReader.shortWait : FrameReader.longestWait
        let deadline = min(deadline, MonotonicClock.now() + longest)
        let wake = Layout.Header.wake
        switch (backing, bell) {
        case (.mapped(let mapping), _): mapping.wait(wake, while: word, or: bell, until: deadline)
        case (.copied, nil): MonotonicClock.sleep(until: deadline)
        case (.copied, let (bell, count)?): bell.wait(while: count, until: deadline)
        }
    }

    /// The word to sleep on; nil if there is something to read.
    private func wakeWord(after seen: UInt64) -> UInt32? {
        guard case .mapped(let mapping) = backing else {
            guard let latest = try? load64(Layout.Header.latest) else { return nil }
            return latest == 0 || latest == seen ? 0 : nil
        }
        return mapping.guarded { Waiting(after: seen).wakeWord(in: mapping, ring.header) } ?? nil
    }
}
