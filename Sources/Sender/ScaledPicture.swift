import FrameBridge
import Pixels
import VideoEncoding

/// A picture of the stream's size that follows the frames of a broadcast, whatever their size, by what changed in them.
struct ScaledPicture: ~Copyable {
    /// One part of the picture in so many must change for a scroll to be looked for.
    private static let scrollShare = 12

    /// The picture as of the frame committed last.
    private(set) var nv12: NV12Picture
    private let size: PixelSize
    private var rescaler: Rescaler?
    /// What changed tiles are rescaled into, until it is known that they were whole. Elsewhere it holds nothing of use.
    private var draft: NV12Picture
    /// The tiles in the draft that are as in the frame taken last.
    private var drafted: BlockSet
    private var committed: FrameInfo?
    /// The picture before the present one, but for macroblocks that are stale.
    private var before: NV12Picture
    private var stale: BlockSet
    private var detector = ScrollDetector()

    /// Black.
    init(size: PixelSize) {
        self.size = size
        nv12 = NV12Picture(size: size)
        draft = NV12Picture(size: size)
        before = NV12Picture(size: size)
        stale = BlockSet(size, side: BlockSet.macroblock)
        drafted = BlockSet(size, side: BlockSet.tile)
    }

    /// Rescales what changed since the frame that was committed last. Until it is committed the picture stays.
    mutating func draft(_ frame: borrowing Frame) {
        let frameSize = PixelSize(width: frame.info.width, height: frame.info.height)
        if rescaler?.input != frameSize {
            rescaler = Rescaler(from: frameSize, to: size)
            committed = nil
        }
        // Black bars where the frame's shape is another one.
        if committed == nil { draft.fillBlack() }
        if drafted.size == frameSize { drafted.removeAll() } else { drafted = BlockSet(frameSize, side: BlockSet.tile) }
        frame.forEachChange(after: committed) { columns, row in drafted.insert(columns: columns, rows: row..<row + 1) }
        guard let rescaler else { return }
        let layout = NV12Layout(size: frameSize, lumaStride: frame.lumaStride, chromaStride: frame.chromaStride)
        drafted.forEachRectangle { columns, rows in
            rescaler.rescale(
                luma: frame.luma,
                chroma: frame.chroma,
                layout: layout,
                region: rescaler.outputRegion(of: drafted.pixels(columns: columns, rows: rows)),
                into: &draft
            )
        }
    }

    /// Takes over the draft of a frame that turned out to be whole.
    ///
    /// - Parameter changed: gets the macroblocks in which the picture is another one now; empty before.
    /// - Returns: what of it has only moved.
    mutating func commit(_ info: FrameInfo, changed: inout BlockSet) -> Scroll? {
        let isFirst = committed == nil
        committed = info
        // What scrolls is worth looking for where it is much.
        let mayScroll = !isFirst && drafted.count * Self.scrollShare >= drafted.columns * drafted.rows
        if mayScroll {
            before.copy(stale, from: nv12)
            stale.removeAll()
        }
        if isFirst {
            nv12.update(PixelRect(size), from: draft, changed: &changed)
        } else if let rescaler {
            drafted.forEachRectangle { columns, rows in
                let region = rescaler.outputRegion(of: drafted.pixels(columns: columns, rows: rows))
                nv12.update(region, from: draft, changed: &changed)
            }
        }
        stale.formUnion(changed)
        return mayScroll ? scroll(in: changed) : nil
    }

    private mutating func scroll(in changed: BlockSet) -> Scroll? {
        guard changed.count * Self.scrollShare >= changed.columns * changed.rows else { return nil }
        let region = changed.bounds
        guard let rows = detector.rows(from: before, to: nv12, in: region) else { return nil }
        var (blocks, tinted) = nv12.blocksMoved(in: region, from: before, rows: rows)
        // What is as it was needs no motion.
        blocks.formIntersection(changed)
        tinted.formIntersection(changed)
        return blocks.isEmpty ? nil : Scroll(rows: rows, blocks: blocks, tinted: tinted)
    }

    /// Forgets which frame the picture shows: the next one is rescaled as a whole.
    mutating func forget() { committed = nil }
}
