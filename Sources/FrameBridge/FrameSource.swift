import Glibc
import Posix
import Synchronization

/// One generation's frames file, opened for reading.
///
/// Nothing here believes the file: metadata is copied and checked, pixels are taken for good only when the slot's
/// sequence number did not move, and a file that shrinks ends in `Lost` instead of a signal.
final class FrameSource {
    /// The file was shrunk, or a read failed.
    struct Lost: Error {}

    private enum Backing {
        case mapped(Mapping)
        /// Read into a private buffer that holds one slot.
        case copied(UnsafeMutableRawBufferPointer)
    }

    let header: HeaderMetadata
    private let file: FileDescriptor
    private let backing: Backing

    init(_ name: String, in directory: BridgeDirectory, access: FrameReader.Access) throws(BridgeError) {
        let path = directory.path(of: name)
        guard let file = try directory.open(name, O_RDONLY) else { throw .noBroadcast(path: directory.path) }
        let size = try directory.calling(on: name) { () throws(SystemError) in Int(try file.status().st_size) }
        let copy = try directory.calling(on: name) { () throws(SystemError) in try file.readBytes(64) }
        let header = try HeaderMetadata(checking: copy.span.bytes, fileSize: size, path: path)
        switch access {
        case .mapped:
            backing = .mapped(
                try directory.calling(on: name) { () throws(SystemError) in
                    try Mapping(file, size: header.fileBytes, writable: false)
                }
            )
        case .copied:
            backing = .copied(.allocate(byteCount: header.slotStride, alignment: 64))
        }
        self.header = header
        self.file = file
    }

    deinit {
        if case .copied(let buffer) = backing { buffer.deallocate() }
    }

    /// Whether the file still has a name.
    var isInPlace: Bool { (try? file.status().st_nlink) ?? 0 > 0 }

    func load64(_ offset: Int) throws(Lost) -> UInt64 {
        switch backing {
        case .mapped(let mapping):
            guard let value = mapping.guarded({ mapping.loadAcquiring64(offset) }) else { throw Lost() }
            return value
        case .copied:
            var value: UInt64 = 0
            let count = withUnsafeMutableBytes(of: &value) { try? file.read(into: $0, at: offset) }
            guard count == 8 else { throw Lost() }
            return value
        }
    }

    /// Nil when the number is none of the states.
    var state: BroadcastState? {
        get throws(Lost) {
            BroadcastState(rawValue: UInt32(truncatingIfNeeded: try load64(Layout.Header.state)))
        }
    }

    /// The state and the time of the last heartbeat.
    func pulse() throws(Lost) -> (state: BroadcastState?, heartbeat: UInt64) {
        (try state, try load64(Layout.Header.heartbeat))
    }

    /// Reads the frame in `slot`, if it is `number` and stays so while `body` works on it. Returns its information, or
    /// nil when the writer was in the way.
    func read(
        slot: Int,
        number: UInt64,
        _ body: (borrowing Frame) -> Void
    ) throws(FrameReader.Failure) -> FrameInfo? {
        let offset = header.slotOffset(slot)
        switch backing {
        case .mapped(let mapping):
            let result = mapping.guarded { () -> Result<FrameInfo?, Malformed> in
                let before = mapping.loadAcquiring64(offset + Layout.Slot.sequence)
                guard before.isMultiple(of: 2) else { return .success(nil) }
                return visit(mapping.base + offset, number: number, body) {
                    atomicMemoryFence(ordering: .acquiring)
                    return mapping.load64(offset + Layout.Slot.sequence) == before
                }
            }
            guard let result else { throw .lost }
            do { return try result.get() } catch { throw .malformed(error) }
        case .copied(let buffer):
            do {
                let before = try load64(offset + Layout.Slot.sequence)
                guard before.isMultiple(of: 2) else { return nil }
                guard (try? file.read(into: buffer, at: offset)) == buffer.count else { throw Lost() }
                // Checked before the work here: the copy is private, so nothing can change it any more.
                guard try load64(offset + Layout.Slot.sequence) == before else { return nil }
            } catch { throw .lost }
            let result = visit(buffer.baseAddress!, number: number, body) { true }
            do { return try result.get() } catch { throw .malformed(error) }
        }
    }

    /// Checks a copy of the metadata, lets `body` see the frame, and asks `unmoved` whether it was whole all the time.
    private func visit(
        _ base: UnsafeMutableRawPointer,
        number: UInt64,
        _ body: (borrowing Frame) -> Void,
        unmoved: () -> Bool
    ) -> Result<FrameInfo?, Malformed> {
        withUnsafeTemporaryAllocation(byteCount: Layout.Slot.metadataBytes, alignment: 8) { copy in
            copy.copyMemory(from: UnsafeRawBufferPointer(start: base, count: copy.count))
            guard unmoved() else { return .success(nil) }
            do throws(Malformed) {
                var metadata = try SlotMetadata(
                    checking: UnsafeRawBufferPointer(copy).bytes,
                    slotBytes: header.slotStride
                )
                guard metadata.info.number == number else { return .success(nil) }
                metadata.info.generation = header.generation
                body(Frame(base: base, metadata: metadata))
                return .success(unmoved() ? metadata.info : nil)
            } catch {
                return .failure(error)
            }
        }
    }

    /// The word that the writer advances with each frame and each change of state.
    var wakeWord: UInt32 {
        guard case .mapped(let mapping) = backing else { return 0 }
        return mapping.guarded { mapping.loadAcquiring32(Layout.Header.wake) } ?? 0
    }

    /// Sleeps until the writer wakes its readers, at the longest until `deadline`; always that long in copied mode.
    func wait(while word: UInt32, until deadline: UInt64) {
        switch backing {
        case .mapped(let mapping): mapping.wait(Layout.Header.wake, while: word, until: deadline)
        case .copied: MonotonicClock.sleep(until: deadline)
        }
    }

    /// Sleeps likewise, and only while `bell` was rung `count` times.
    func wait(while word: UInt32, or bell: Bell, while count: UInt32, until deadline: UInt64) {
        switch backing {
        case .mapped(let mapping):
            mapping.wait(Layout.Header.wake, while: word, or: bell, while: count, until: deadline)
        case .copied: bell.wait(while: count, until: deadline)
        }
    }
}
