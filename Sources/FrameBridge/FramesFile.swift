import Glibc
import Posix
import Synchronization

/// The writer's mapping of one generation's frames file. Made under a temporary name and renamed when its header is
/// whole, so that a reader finds either no file or a valid one.
final class FramesFile {
    private let mapping: Mapping
    private let name: String
    private let slotStride: Int
    private var slot = 0
    // The writer's own copies: what stands in the file may have been changed by somebody else.
    private var sequences = [UInt64](repeating: 0, count: Layout.slotCount)
    /// The geometry of what stands in each slot; nil where nothing was written.
    private var plans = [SlotPlan?](repeating: nil, count: Layout.slotCount)
    private var published: UInt64 = 0

    init(
        in directory: BridgeDirectory,
        generation: UInt64,
        plan: SlotPlan,
        state: BroadcastState,
        source: String,
        framesPerSecond: Int
    ) throws(BridgeError) {
        let name = BridgeStatus.framesFile(generation)
        let temporary = "." + name
        let bytes = Layout.page + Layout.slotCount * plan.byteCount
        let mapping = try Self.reserve(temporary, bytes: bytes, in: directory)
        let base = mapping.base
        _ = mapping.guarded {
            typealias H = Layout.Header
            base.storeBytes(of: Layout.magic, toByteOffset: H.magic, as: UInt64.self)
            base.storeBytes(of: Layout.byteOrderMark, toByteOffset: H.byteOrderMark, as: UInt32.self)
            base.storeBytes(of: Layout.major, toByteOffset: H.major, as: UInt16.self)
            base.storeBytes(of: Layout.minor, toByteOffset: H.minor, as: UInt16.self)
            base.storeBytes(of: UInt32(Layout.page), toByteOffset: H.headerBytes, as: UInt32.self)
            base.storeBytes(of: UInt32(Layout.slotCount), toByteOffset: H.slotCount, as: UInt32.self)
            base.storeBytes(of: generation, toByteOffset: H.generation, as: UInt64.self)
            base.storeBytes(of: UInt64(bytes), toByteOffset: H.fileBytes, as: UInt64.self)
            base.storeBytes(of: UInt64(plan.byteCount), toByteOffset: H.slotStride, as: UInt64.self)
            base.storeBytes(of: UInt64(Layout.page), toByteOffset: H.slotsOffset, as: UInt64.self)
            base.storeBytes(of: UInt32(bitPattern: getpid()), toByteOffset: H.writerPID, as: UInt32.self)
            let sum = CRC32C.checksum(UnsafeRawBufferPointer(start: base, count: H.checksum).bytes)
            base.storeBytes(of: sum, toByteOffset: H.checksum, as: UInt32.self)
            base.storeBytes(of: UInt32(clamping: framesPerSecond), toByteOffset: H.framesPerSecond, as: UInt32.self)
        }
        self.mapping = mapping
        self.name = name
        slotStride = plan.byteCount
        setSource(source)
        heartbeat()
        setState(state)
        if renameat(directory.descriptor.raw, temporary, directory.descriptor.raw, name) != 0 {
            let error = SystemError("rename")
            directory.remove(temporary)
            throw .system(path: directory.path(of: name), error)
        }
    }

    /// Makes a file whose blocks are all there, so that a full file system is an error now and not a SIGBUS later.
    private static func reserve(
        _ name: String,
        bytes: Int,
        in directory: BridgeDirectory
    ) throws(BridgeError) -> Mapping {
        do throws(SystemError) {
            let file = try directory.descriptor.open(name, O_RDWR | O_CREAT | O_EXCL)
            let code = posix_fallocate(file.raw, 0, off_t(bytes))
            guard code == 0 else { throw SystemError("posix_fallocate", code: code) }
            return try Mapping(file, size: bytes, writable: true)
        } catch {
            directory.remove(name)
            if error.code == ENOSPC || error.code == EDQUOT { throw .noSpace(path: directory.path, bytes: bytes) }
            throw .system(path: directory.path(of: name), error)
        }
    }

    /// Tells the readers of a file that a killed writer left that there will be no more frames in it.
    static func retire(_ name: String, in directory: BridgeDirectory) {
        guard let file = try? directory.open(name, O_RDWR),
            let mapping = try? Mapping(file, size: Layout.page, writable: true)
        else { return }
        _ = mapping.guarded { Self.setState(.retired, in: mapping) }
    }

    /// Whether new readers would find this file, and whole.
    func isInPlace(in directory: BridgeDirectory) -> Bool { directory.size(of: name) ?? 0 >= mapping.size }

    func holds(_ plan: SlotPlan) -> Bool { plan.byteCount <= slotStride }

    func heartbeat() {
        _ = mapping.guarded { mapping.storeReleasing64(MonotonicClock.now(), Layout.Header.heartbeat) }
    }

    /// Says what is shown, for people, who may read it while it is written.
    func setSource(_ source: String) {
        let count = Layout.Header.sourceBytes
        let bytes = Array(source.utf8.prefix(count - 1))
        _ = mapping.guarded {
            for index in 0..<count {
                let byte = index < bytes.count ? bytes[index] : 0
                mapping.base.storeBytes(of: byte, toByteOffset: Layout.Header.source + index, as: UInt8.self)
            }
        }
    }

    func setState(_ state: BroadcastState) {
        _ = mapping.guarded { Self.setState(state, in: mapping) }
    }

    private static func setState(_ state: BroadcastState, in mapping: Mapping) {
        mapping.store64(MonotonicClock.now(), Layout.Header.stateSince)
        mapping.storeReleasing32(state.rawValue, Layout.Header.state)
        mapping.advanceAndWake(Layout.Header.wake)
    }

    private func slotOffset(_ slot: Int) -> Int { Layout.page + slot * slotStride }

    /// Writes a frame into the slot after the latest one and publishes it. Returns false when the file was shrunk.
    func write(_ info: FrameInfo, _ plan: SlotPlan, _ body: (inout FramePlanes) -> Void) -> Bool {
        let previous = plans[slot] == plan ? slot : nil
        slot = (slot + 1) % Layout.slotCount
        let isRecycled = plans[slot] == plan
        plans[slot] = plan
        let offset = slotOffset(slot)
        let target = slot
        let sequence = sequences[slot]
        sequences[slot] = sequence &+ 2
        published += 1
        return mapping.guarded { () -> Void in
            let base = mapping.base + offset
            mapping.store64(sequence &+ 1, offset + Layout.Slot.sequence)
            atomicMemoryFence(ordering: .releasing)

            // Of no frame: everything in there is older than what any reader could have seen.
            if !isRecycled { TileMap(base, plan).fill(0) }
            var planes = FramePlanes(
                base: base,
                plan: plan,
                frameNumber: info.number,
                followsAnother: previous != nil
            )
            body(&planes)
            planes.complete(from: previous.map { mapping.base + slotOffset($0) })
            let publishedAt = MonotonicClock.now()
            SlotMetadata(info, plan).store(at: base, publishedAt: publishedAt, changedTiles: planes.namedTiles)

            mapping.storeReleasing64(sequence &+ 2, offset + Layout.Slot.sequence)
            mapping.storeReleasing64(publishedAt, Layout.Header.heartbeat)
            mapping.store64(published, Layout.Header.published)
            mapping.storeReleasing64(info.number << 8 | UInt64(target), Layout.Header.latest)
            mapping.advanceAndWake(Layout.Header.wake)
        } != nil
    }
}
