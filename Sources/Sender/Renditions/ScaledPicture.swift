package import FrameBridge
package import Media
package import Pixels
package import Time
package import VideoEncoding

/// A picture of the stream's size that follows the frames of a broadcast, of any size, by their changes.
package struct ScaledPicture: ~Copyable {
    /// A scroll is searched for if at least one in this many tiles has changed.
    private static let scrollShare = 12
    /// After this many searches in vain, only one picture in as many is searched.
    private static let patience = 8

    /// The part of each frame that the picture shows, with even edges; nil for the whole. A frame of another size than this part
    /// is meant for shows as much of it as it has.
    package var viewport: PixelRect? { didSet { if viewport != oldValue { startAnew() } } }
    /// Whether dark frames are brightened.
    package var legibility = Legibility.off { didSet { if toneChoice.set(legibility) { startAnew() } } }
    private var toneChoice = ToneChoice()
    /// Whether the next picture does not follow the one before.
    private var startsAnew = true
    /// That of the draft.
    private var draftedTone = ToneChoice()
    /// The picture of the last committed frame.
    package private(set) var nv12: NV12Picture
    private let size: PixelSize
    private var rescaler: Rescaler?
    /// The part of the drafted frame that is shown.
    private var part = PixelRect(PixelSize(width: 0, height: 0))
    /// Receives the rescaled tiles while the frame may still be torn. Only the pixels of `drafted` tiles are valid.
    private var draft: NV12Picture
    /// The tiles of the draft that are as in the last frame.
    private var drafted: BlockSet
    private var committed: FrameInfo?
    /// The drafted tiles that have not changed. They make the draft whole within the bounds of the others.
    private var unchanged: BlockSet
    private var detector = ScrollDetector()
    /// The last result of `findScroll`; reused, to save an allocation.
    private var scroll: Scroll
    private var searchesInVain = 0

    /// Black.
    package init(size: PixelSize) {
        self.size = size
        nv12 = NV12Picture(size: size)
        draft = NV12Picture(size: size)
        drafted = BlockSet(size, side: BlockSet.tile)
        unchanged = drafted
        let blocks = BlockSet(size, side: BlockSet.macroblock)
        scroll = Scroll(rows: 0, blocks: blocks, tinted: blocks)
    }

    /// When the last frame is to be read again, as it may be brightened then.
    package var brightensAt: Instant? { toneChoice.dueAt }
    /// That of the last committed frame; nil if it is shown as it is.
    package var tone: Tone? { toneChoice.tone }

    /// Rescales the changes since the last committed frame. The picture stays until `commit`.
    package mutating func draft(_ frame: borrowing Frame, at now: Instant) {
        let whole = PixelRect(PixelSize(width: frame.info.width, height: frame.info.height))
        let part = viewport.flatMap { whole.intersection($0) } ?? whole
        if part != self.part {
            self.part = part
            rescaler = Rescaler(from: part.size, to: size)
            startAnew()
            drafted = BlockSet(part.size, side: BlockSet.tile)
            unchanged = drafted
        }
        let layout = NV12Layout(size: part.size, lumaStride: frame.lumaStride, chromaStride: frame.chromaStride)
        let luma = frame.luma.extracting(layout.lumaOffset(x: part.x, y: part.y)...)
        let chroma = frame.chroma.extracting(layout.chromaOffset(x: part.x, y: part.y)...)
        draftedTone = toneChoice
        if draftedTone.isOn {
            draftedTone.note(LumaHistogram(luma: luma, layout: layout), isFirst: startsAnew, at: now)
        }
        if draftedTone.tone != toneChoice.tone { committed = nil }
        // Black bars for a frame of another shape.
        if committed == nil { draft.fillBlack() }
        drafted.removeAll()
        frame.forEachChange(after: committed) { columns, row in
            let side = BlockSet.tile
            let changed = PixelRect(
                x: columns.lowerBound * side,
                y: row * side,
                width: columns.count * side,
                height: side
            )
            drafted.insert(changed.moved(x: -part.x, y: -part.y))
        }
        guard let rescaler else { return }
        if mayScroll, isSearchDue { draftUnchanged(rescaler) }
        drafted.forEachRectangle { columns, rows in
            let region = rescaler.outputRegion(of: drafted.pixels(columns: columns, rows: rows))
            rescaler.rescale(luma: luma, chroma: chroma, layout: layout, region: region, into: &draft)
            if let tone = draftedTone.tone { draft.apply(tone, to: region) }
        }
    }

    /// Adopts the draft of a whole frame.
    ///
    /// - Parameter changed: gets the macroblocks that have changed in the picture; empty before.
    /// - Returns: the scroll, if some of these macroblocks have only moved.
    package mutating func commit(_ info: FrameInfo, changed: inout BlockSet) -> Scroll? {
        let hasScrolled = committed != nil && mayScroll && findScroll()
        if mayScroll { searchesInVain = hasScrolled ? 0 : searchesInVain + 1 }
        let isFirst = committed == nil
        committed = info
        (toneChoice, startsAnew) = (draftedTone, false)
        guard let rescaler, !isFirst else {
            nv12.update(PixelRect(size), from: draft, changed: &changed)
            return nil
        }
        drafted.forEachRectangle { columns, rows in
            let region = rescaler.outputRegion(of: drafted.pixels(columns: columns, rows: rows))
            nv12.update(region, from: draft, changed: &changed)
        }
        guard hasScrolled else { return nil }
        // Macroblocks that did not change are not moved, although they match the scroll.
        scroll.blocks.formIntersection(changed)
        scroll.tinted.formIntersection(changed)
        return scroll.blocks.isEmpty ? nil : scroll
    }

    /// Bytes of the frame in the last rescaled tiles.
    var bytesDrafted: Int { drafted.count * BlockSet.tile * BlockSet.tile * 3 / 2 }

    /// Whether enough has changed to search for a scroll.
    private var mayScroll: Bool { drafted.count * Self.scrollShare >= drafted.columns * drafted.rows }

    private var isSearchDue: Bool {
        searchesInVain < Self.patience || searchesInVain.isMultiple(of: Self.patience)
    }

    private mutating func draftUnchanged(_ rescaler: Rescaler) {
        unchanged.removeAll()
        unchanged.insert(drafted.bounds)
        unchanged.subtract(drafted)
        unchanged.forEachRectangle { columns, rows in
            let region = rescaler.outputRegion(of: unchanged.pixels(columns: columns, rows: rows))
            draft.copy(region, from: nv12)
        }
    }

    private mutating func findScroll() -> Bool {
        guard let rescaler, isSearchDue else { return false }
        let region = rescaler.outputRegion(of: drafted.bounds)
        guard let rows = detector.rows(from: nv12, to: draft, in: region, within: Scroll.range) else { return false }
        scroll.rows = rows
        draft.findBlocksMoved(in: region, from: nv12, rows: rows, &scroll.blocks, tinted: &scroll.tinted)
        return true
    }

    /// Forgets the frame of the picture: the next one is rescaled as a whole.
    package mutating func forget() { startAnew() }

    private mutating func startAnew() { (committed, startsAnew) = (nil, true) }
}
