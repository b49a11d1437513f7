import Glibc
import Posix
import Synchronization

/// The writer's mapping of one generation's frames. Made under a temporary name and renamed when its header is whole, so
/// that a reader finds either nothing or what is valid.
final class FramesFile {
    /// To wake a reader takes the writer three microseconds and more, so a thread wakes those beyond so many.
    private static let wokenAtOnce: Int32 = 4

    private let mapping: Mapping
    /// Hands out sealed memory; nil for a file.
    private let service: DescriptorService?
    private let name: String
    private let header: HeaderMetadata
    private var rotation = SlotRotation()
    /// The geometry of what stands in each slot; nil where nothing was written.
    private var plans = [SlotPlan?](repeating: nil, count: Layout.slotCount)
    private var published: UInt64 = 0
    /// Wakes many readers; made when there are many.
    private var crowd: ReaderCrowd?

    init(
        in directory: BridgeDirectory,
        storage: FrameStorage,
        header: HeaderMetadata,
        state: BroadcastState,
        source: String,
        framesPerSecond: Int
    ) throws(BridgeError) {
        let name = BridgeStatus.framesFile(header.generation)
        let temporary = "." + name
        do throws(SystemError) {
            (mapping, service) = try Self.reserve(temporary, header.fileBytes, storage, in: directory)
        } catch {
            directory.remove(temporary)
            throw .writing(name, header.fileBytes, in: directory, error)
        }
        self.name = name
        self.header = header
        _ = mapping.guarded {
            withUnsafeTemporaryAllocation(byteCount: Layout.Header.constantBytes, alignment: 8) { bytes in
                header.encode(into: bytes)
                mapping.store(UnsafeRawBufferPointer(bytes), 0)
            }
            mapping.store32(UInt32(clamping: framesPerSecond), Layout.Header.framesPerSecond)
        }
        setSource(source)
        heartbeat()
        setState(state)
        if renameat(directory.descriptor.raw, temporary, directory.descriptor.raw, name) != 0 {
            let error = SystemError("rename")
            directory.remove(temporary)
            throw .system(path: directory.path(of: name), error)
        }
    }

    /// Makes room whose blocks are all there, so that a full file system is an error now and not a SIGBUS later.
    private static func reserve(
        _ name: String,
        _ bytes: Int,
        _ storage: FrameStorage,
        in directory: BridgeDirectory
    ) throws(SystemError) -> (Mapping, DescriptorService?) {
        let file =
            switch storage {
            case .file: try directory.descriptor.open(name, O_RDWR | O_CREAT | O_EXCL)
            case .memfd: try FileDescriptor.memory("oriel-frames")
            }
        try file.allocate(bytes)
        let mapping = try Mapping(file, size: bytes, writable: true)
        guard storage == .memfd else { return (mapping, nil) }
        try file.seal()
        return (mapping, try DescriptorService(giving: file, at: name, in: directory.descriptor))
    }

    /// Whether new readers would find these frames, and whole.
    func isInPlace(in directory: BridgeDirectory) -> Bool {
        service == nil ? directory.size(of: name) ?? 0 >= mapping.size : directory.kind(of: name) == S_IFSOCK
    }

    func holds(_ plan: SlotPlan) -> Bool { plan.byteCount <= header.slotStride }

    func heartbeat() {
        _ = mapping.guarded { Self.heartbeat(in: mapping) }
    }

    private static func heartbeat(in mapping: Mapping) {
        mapping.storeReleasing64(MonotonicClock.now(), Layout.Header.heartbeat)
    }

    /// Says what is shown, for people, who may read it while it is written.
    func setSource(_ source: String) {
        let count = Layout.Header.sourceBytes
        let bytes = Array(source.utf8.prefix(count - 1))
        let padded = bytes + repeatElement(0, count: count - bytes.count)
        _ = mapping.guarded { padded.withUnsafeBytes { mapping.store($0, Layout.Header.source) } }
    }

    /// What was captured before is not to be shown any more.
    func setHorizon(_ instant: UInt64) {
        _ = mapping.guarded { Self.setHorizon(instant, in: mapping) }
    }

    static func setHorizon(_ instant: UInt64, in mapping: Mapping) {
        // No earlier than the horizon: readers take another one for damage.
        heartbeat(in: mapping)
        mapping.storeReleasing64(instant, Layout.Header.horizon)
    }

    func setState(_ state: BroadcastState) {
        _ = mapping.guarded { Self.setState(state, in: mapping) }
    }

    static func setState(_ state: BroadcastState, in mapping: Mapping) {
        mapping.store64(MonotonicClock.now(), Layout.Header.stateSince)
        mapping.storeReleasing32(state.rawValue, Layout.Header.state)
        mapping.advanceAndWake(Layout.Header.wake)
    }

    /// Writes a frame into the slot that was not written for longest, and publishes it. Returns false when the file was
    /// shrunk.
    func write(_ info: FrameInfo, _ plan: SlotPlan, _ body: (inout FramePlanes) -> Void) -> Bool {
        let previous = plans[rotation.slot] == plan ? rotation.slot : nil
        var publication = rotation.publication(of: info.number)
        let isRecycled = plans[publication.slot] == plan
        plans[publication.slot] = plan
        published += 1
        return mapping.guarded { () -> Void in
            while let step = publication.next() {
                switch step {
                case .store(let value, let word): mapping.store64(value, header.offset(of: word))
                case .fence: atomicMemoryFence(ordering: .releasing)
                case .draw(let slot): draw(info, plan, slot, after: previous, isRecycled: isRecycled, body)
                case .release(let value, let word): mapping.storeReleasing64(value, header.offset(of: word))
                case .wake: advanceAndWakeReaders()
                }
            }
        } != nil
    }

    private func advanceAndWakeReaders() {
        let woken = mapping.advanceAndWake(Layout.Header.wake, most: Self.wokenAtOnce)
        if woken < Self.wokenAtOnce { return }
        crowd = crowd ?? (try? ReaderCrowd(of: mapping))
        if let crowd { crowd.wake() } else { _ = mapping.wake(Layout.Header.wake) }
    }

    private func draw(
        _ info: FrameInfo,
        _ plan: SlotPlan,
        _ slot: Int,
        after previous: Int?,
        isRecycled: Bool,
        _ body: (inout FramePlanes) -> Void
    ) {
        let base = mapping.base + header.slotOffset(slot)
        // Of no frame: everything in there is older than what any reader could have seen.
        if !isRecycled { TileMap(base, plan).fill(0) }
        var planes = FramePlanes(base: base, plan: plan, frameNumber: info.number, followsAnother: previous != nil)
        body(&planes)
        planes.complete(from: previous.map { mapping.base + header.slotOffset($0) })
        var info = info
        info.publishedAt = MonotonicClock.now()
        let metadata = SlotMetadata(info, plan)
        withUnsafeTemporaryAllocation(byteCount: Layout.Slot.metadataBytes, alignment: 8) { bytes in
            metadata.encode(into: bytes, changedTiles: planes.namedTiles)
            // The sequence number before it is not part of the picture.
            let start = Layout.Slot.frameNumber
            mapping.store(UnsafeRawBufferPointer(rebasing: bytes[start...]), header.slotOffset(slot) + start)
        }
        mapping.store64(info.publishedAt, Layout.Header.heartbeat)
        mapping.store64(published, Layout.Header.published)
    }
}
