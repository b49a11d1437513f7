import Glibc
import Posix
import Time

/// The sound of one generation, as its writer has it: slots that are written in turn, and the order of stores by which
/// readers get whole blocks (`Publication`).
final class SoundRing {
    let file: RingFile
    private let header: HeaderMetadata
    /// The number of the newest block; 0 if there is none.
    private var head: UInt64 = 0
    /// When the block in each slot was captured.
    private var capturedAt = [Instant](repeating: Instant(nanoseconds: 0), count: SoundLayout.slotCount)

    private var mapping: Mapping { file.mapping }

    /// Makes the ring of a generation, without a block.
    ///
    /// - Throws: `noSpace`, or `system`.
    init(_ name: String, in generation: inout NewGeneration, storage: FrameStorage) throws(BridgeError) {
        let header = HeaderMetadata(.sound, generation: generation.number, slotBytes: SoundLayout.slotBytes)
        file = try RingFile(name, in: &generation, bytes: header.fileBytes, storage: storage) { mapping in
            header.store(as: .sound, in: mapping)
            mapping.store64(MonotonicClock.now().nanoseconds, SoundLayout.Header.startedAt)
        }
        self.header = header
    }

    /// Writes a block over the oldest one, and wakes the readers. Returns false if the file was shrunk.
    ///
    /// - Parameter block: its number is filled in.
    func write(_ block: SoundBlock, _ samples: Span<Int16>) -> Bool {
        head += 1
        var block = block
        block.number = head
        let slot = slot(of: head)
        capturedAt[slot] = block.capturedAt
        let publication = Publication(as: head, in: slot, sequence: head * 2)
        return mapping.guarded { file.perform(publication, header) { draw(block, samples, in: $0) } } != nil
    }

    private func draw(_ block: SoundBlock, _ samples: Span<Int16>, in slot: Int) {
        withUnsafeTemporaryAllocation(byteCount: SoundLayout.Slot.metadataBytes, alignment: 8) { bytes in
            block.encode(into: bytes)
            // The sequence number before it is not part of the block.
            let start = SoundLayout.Slot.number
            mapping.store(UnsafeRawBufferPointer(rebasing: bytes[start...]), header.slotOffset(slot) + start)
        }
        samples.withUnsafeBytes { mapping.store($0, header.slotOffset(slot) + SoundLayout.Slot.samples) }
        mapping.store64(MonotonicClock.now().nanoseconds, Layout.Header.heartbeat)
    }

    /// Erases all blocks that were captured before an instant: their samples become zeros.
    func erase(before instant: Instant) {
        let first = head - min(head, UInt64(SoundLayout.slotCount)) + 1
        _ = mapping.guarded {
            for number in stride(from: first, through: head, by: 1) where capturedAt[slot(of: number)] < instant {
                file.perform(Publication(erasing: slot(of: number), sequence: number * 2), header, draw: erase)
            }
        }
    }

    private func erase(_ slot: Int) {
        let start = header.slotOffset(slot)
        memset(mapping.base + start + SoundLayout.Slot.number, 0, header.slotStride - SoundLayout.Slot.number)
    }

    private func slot(of number: UInt64) -> Int { Int(number % UInt64(SoundLayout.slotCount)) }
}
