import Glibc
import Posix
import Time

/// The frames of one generation, as their writer has them: three slots, one of which is written at a time, and the
/// order of stores by which readers see whole pictures (`Publication`).
final class FrameRing {
    /// The name of the ring in the broadcast's folder.
    static let name = "frames"

    let file: RingFile
    private let header: HeaderMetadata
    private var rotation = SlotRotation()
    /// The geometry of each slot's picture; nil if nothing was written there.
    private var plans = [SlotPlan?](repeating: nil, count: Layout.slotCount)
    private var published: UInt64 = 0

    private var mapping: Mapping { file.mapping }

    /// Makes the ring of a generation, with slots as large as `plan`, and without a frame.
    ///
    /// - Throws: `noSpace`, or `system`.
    init(
        in generation: inout NewGeneration,
        storage: FrameStorage,
        plan: SlotPlan,
        source: String,
        framesPerSecond: Int
    ) throws(BridgeError) {
        let header = HeaderMetadata(.frames, generation: generation.number, slotBytes: plan.byteCount)
        file = try RingFile(Self.name, in: &generation, bytes: header.fileBytes, storage: storage) { mapping in
            header.store(as: .frames, in: mapping)
            mapping.store32(UInt32(clamping: framesPerSecond), Layout.Header.framesPerSecond)
            Self.store(source, in: mapping)
        }
        self.header = header
    }

    /// Stores the source in words for people. They may read it while it is being written.
    func setSource(_ source: String) {
        _ = mapping.guarded { Self.store(source, in: mapping) }
    }

    private static func store(_ source: String, in mapping: Mapping) {
        let count = Layout.Header.sourceBytes
        let bytes = Array(source.utf8.prefix(count - 1))
        let padded = bytes + repeatElement(0, count: count - bytes.count)
        padded.withUnsafeBytes { mapping.store($0, Layout.Header.source) }
    }

    /// Whether a slot has room for a picture.
    func holds(_ plan: SlotPlan) -> Bool { plan.byteCount <= header.slotStride }

    /// Writes a frame into the slot that was not written for longest, and publishes it. Returns false if the file was
    /// shrunk.
    func write(_ info: FrameInfo, _ plan: SlotPlan, _ body: (inout FramePlanes) -> Void) -> Bool {
        let previous = plans[rotation.slot] == plan ? rotation.slot : nil
        let publication = rotation.publication(of: info.number)
        let isRecycled = plans[publication.slot] == plan
        plans[publication.slot] = plan
        published += 1
        return mapping.guarded {
            file.perform(publication, header) { slot in
                draw(info, plan, slot, after: previous, isRecycled: isRecycled, body)
            }
        } != nil
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
        // Version 0 marks all tiles of a new slot layout as never drawn, so that `complete` copies them.
        if !isRecycled {
            TileMap(of: base, plan).fill(0)
            TileMap(contentOf: base, plan).fill(0)
        }
        var planes = FramePlanes(base: base, plan: plan, frameNumber: info.number, followsAnother: previous != nil)
        body(&planes)
        planes.complete(from: previous.map { mapping.base + header.slotOffset($0) })
        var info = info
        let publishedAt = MonotonicClock.now()
        info.publishedAt = publishedAt
        withUnsafeTemporaryAllocation(byteCount: Layout.Slot.metadataBytes, alignment: 8) { bytes in
            SlotMetadata.encode(info, plan, changedTiles: planes.namedTiles, into: bytes)
            // The sequence number before it is not part of the picture.
            let start = Layout.Slot.frameNumber
            mapping.store(UnsafeRawBufferPointer(rebasing: bytes[start...]), header.slotOffset(slot) + start)
        }
        mapping.store64(publishedAt.nanoseconds, Layout.Header.heartbeat)
        mapping.store64(published, Layout.Header.published)
    }
}
