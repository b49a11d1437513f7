/// The two planes of the slot that is being written. Valid only inside the closure that got it.
public struct FramePlanes: ~Copyable {
    private let base: UnsafeMutableRawPointer
    private let plan: SlotPlan

    /// `base` is the slot's start; `plan.byteCount` bytes there belong to the writer while the sequence number is odd.
    init(base: UnsafeMutableRawPointer, plan: SlotPlan) {
        self.base = base
        self.plan = plan
    }

    /// Picture width in pixels.
    public var width: Int { plan.width }
    /// Picture height in pixels.
    public var height: Int { plan.height }

    /// Bytes from row to row, in both planes; a multiple of 64.
    public var stride: Int { plan.stride }

    /// Gives the luma plane, `stride * height` bytes, and the plane of interleaved Cb and Cr samples,
    /// `stride * height / 2` bytes.
    public mutating func withPlanes(
        _ body: (_ luma: inout MutableRawSpan, _ chroma: inout MutableRawSpan) -> Void
    ) {
        let size = plan.stride * plan.height
        var luma = UnsafeMutableRawBufferPointer(start: base + plan.lumaOffset, count: size).mutableBytes
        var chroma = UnsafeMutableRawBufferPointer(start: base + plan.chromaOffset, count: size / 2).mutableBytes
        body(&luma, &chroma)
    }

    /// Notes in the tile version map that every tile changed in this frame.
    func markChanged(_ frameNumber: UInt64) {
        let count = plan.tileColumns * plan.tileRows
        (base + Layout.Slot.tiles).withMemoryRebound(to: UInt32.self, capacity: count) { tiles in
            UnsafeMutableBufferPointer(start: tiles, count: count)
                .update(repeating: UInt32(truncatingIfNeeded: frameNumber))
        }
    }
}
