/// The two planes of the slot that is being written. Valid only inside the closure that got it.
///
/// The closure either draws the whole picture, or names the tiles that it draws. The other tiles keep the content of
/// the frame before.
public struct FramePlanes: ~Copyable {
    /// The start of the slot; `plan.byteCount` bytes there belong to the writer while the sequence number is odd.
    let base: UnsafeMutableRawPointer
    let plan: SlotPlan
    let frameNumber: UInt64
    /// Whether the same file holds an earlier frame of the same size. Only then may tiles be left out.
    public let followsAnother: Bool
    /// The count of tiles that are named as drawn; nil if the whole picture is drawn.
    private(set) var namedTiles: Int?

    private var tiles: TileMap { TileMap(of: base, plan) }
    private var content: TileMap { TileMap(contentOf: base, plan) }

    /// The side of a tile in pixels, in all frames of this layout version.
    public static let tileSide = Layout.tileSize

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

    /// Names 64x64 tiles of one row that are drawn. All of their pixels must be drawn. Tiles that are never named keep
    /// the content of the frame before, whatever was drawn there.
    ///
    /// - Precondition: `followsAnother`.
    public mutating func drawOnly(columns: Range<Int>, row: Int) {
        drawPointer(columns: columns, row: row)
        for column in columns { content[column, row] = TileMap.version(frameNumber) }
    }

    /// The same, for tiles that differ by the pointer alone, or that were named before.
    public mutating func drawPointer(columns: Range<Int>, row: Int) {
        precondition(followsAnother, "there is no frame before that could be kept")
        precondition(0..<plan.tileRows ~= row, "a row beyond the picture")
        precondition(columns.clamped(to: 0..<plan.tileColumns) == columns, "columns beyond the picture")
        for column in columns where tiles[column, row] != TileMap.version(frameNumber) {
            tiles[column, row] = TileMap.version(frameNumber)
            namedTiles = (namedTiles ?? 0) + 1
        }
    }

    /// Names no tile for now. Tiles that are not named later keep their content.
    ///
    /// - Precondition: `followsAnother`.
    public mutating func keepAll() {
        precondition(followsAnother, "there is no frame before that could be kept")
        namedTiles = namedTiles ?? 0
    }

    /// Completes the slot after drawing: records the changed tiles, and copies the others from the slot of the frame
    /// before.
    ///
    /// - Parameter previous: the start of that slot.
    mutating func complete(from previous: UnsafeMutableRawPointer?) {
        guard namedTiles != nil, let previous else {
            content.fill(frameNumber)
            return tiles.fill(frameNumber)
        }
        content.keep(TileMap(contentOf: previous, plan), but: frameNumber)
        let before = TileMap(of: previous, plan)
        var start = tiles.firstStale(from: 0, frameNumber, comparedTo: before)
        while let first = start {
            let (row, column) = first.quotientAndRemainder(dividingBy: plan.tileColumns)
            var end = column
            while end < plan.tileColumns, tiles.isStale(row * plan.tileColumns + end, frameNumber, comparedTo: before) {
                tiles[end, row] = before[end, row]
                end += 1
            }
            copyTiles(column..<end, row: row, from: previous)
            start = tiles.firstStale(from: row * plan.tileColumns + end, frameNumber, comparedTo: before)
        }
    }

    private func copyTiles(_ columns: Range<Int>, row: Int, from previous: UnsafeMutableRawPointer) {
        let side = Layout.tileSize
        let bytes = columns.lowerBound * side..<min(columns.upperBound * side, plan.width)
        let lines = row * side..<min((row + 1) * side, plan.height)
        for line in lines { copy(bytes, line: line, plane: plan.lumaOffset, from: previous) }
        for line in lines.lowerBound / 2..<lines.upperBound / 2 {
            copy(bytes, line: line, plane: plan.chromaOffset, from: previous)
        }
    }

    private func copy(_ bytes: Range<Int>, line: Int, plane: Int, from previous: UnsafeMutableRawPointer) {
        let offset = plane + line * plan.stride + bytes.lowerBound
        (base + offset).copyMemory(from: previous + offset, byteCount: bytes.count)
    }
}

/// A version map of a slot: for each tile, the low 32 bits of the number of the frame in which it last changed.
///
/// Invariant: the slot that starts at `base` belongs to the writer, or is one that it does not write now.
struct TileMap {
    private let versions: UnsafeMutablePointer<UInt32>
    private let columns: Int, rows: Int

    /// The map of all changes.
    init(of base: UnsafeMutableRawPointer, _ plan: SlotPlan) {
        self.init(base + Layout.Slot.tiles, plan)
    }

    /// The map of changes that are not the pointer's.
    init(contentOf base: UnsafeMutableRawPointer, _ plan: SlotPlan) {
        self.init(base + plan.contentOffset, plan)
    }

    private init(_ map: UnsafeMutableRawPointer, _ plan: SlotPlan) {
        versions = map.assumingMemoryBound(to: UInt32.self)
        (columns, rows) = (plan.tileColumns, plan.tileRows)
    }

    static func version(_ frameNumber: UInt64) -> UInt32 { UInt32(truncatingIfNeeded: frameNumber) }

    subscript(column: Int, row: Int) -> UInt32 {
        get { versions[row * columns + column] }
        nonmutating set { versions[row * columns + column] = newValue }
    }

    /// Whether a tile was not drawn in this frame, and has changed since it was drawn here.
    func isStale(_ index: Int, _ frameNumber: UInt64, comparedTo before: TileMap) -> Bool {
        versions[index] != before.versions[index] && versions[index] != Self.version(frameNumber)
    }

    /// The first such tile from an index on, row by row; nil if there is none.
    func firstStale(from start: Int, _ frameNumber: UInt64, comparedTo before: TileMap) -> Int? {
        (start..<columns * rows).first { isStale($0, frameNumber, comparedTo: before) }
    }

    /// Takes the versions of the frame before over, but for tiles that were drawn in this one.
    func keep(_ before: TileMap, but frameNumber: UInt64) {
        for index in 0..<columns * rows where versions[index] != Self.version(frameNumber) {
            versions[index] = before.versions[index]
        }
    }

    func fill(_ frameNumber: UInt64) {
        UnsafeMutableBufferPointer(start: versions, count: columns * rows).update(repeating: Self.version(frameNumber))
    }
}
