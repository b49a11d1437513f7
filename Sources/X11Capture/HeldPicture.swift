import CXCB
import Glibc
import Pixels

/// The last grabbed picture of a source, in the server's format, and memory for the next grab.
///
/// There are two buffers of the picture's size. For each row of tiles, one of them holds the present pixels. The other
/// is free for a grab, and takes its place if the new pixels differ. So whole rows change without a copy. Narrower
/// pieces are grabbed into a scratch buffer, where they are packed. Only their tiles that differ are copied.
///
/// Invariant: all buffers are as large as `bytesPerRow` and `size` need.
final class HeldPicture {
    let size: PixelSize
    let bytesPerRow: Int
    private let format: ImageFormat
    private let buffers: [ImageBuffer]
    private let scratch: ImageBuffer?
    /// For each row of tiles, the buffer that holds the present pixels.
    private var current: [Int]

    /// A part of the picture that is grabbed at once: `columns` and `rows` of tiles.
    struct Piece {
        enum Place: Equatable {
            /// Whole rows, in place in this buffer.
            case buffer(Int)
            /// Packed, from this byte of the scratch buffer on.
            case scratch(Int)
            /// In the answer to the request.
            case answer
        }

        let columns: Range<Int>
        private(set) var rows: Range<Int>
        let place: Place
    }

    init(
        size: PixelSize,
        format: ImageFormat,
        method: GrabMethod,
        connection: XConnection
    ) throws(X11Error) {
        self.size = size
        self.format = format
        bytesPerRow = format.bytesPerRow(size.width)
        let isShared = method != .socket
        var buffers: [ImageBuffer] = []
        for _ in 0..<(isShared ? 2 : 1) {
            buffers.append(try ImageBuffer(method, byteCount: bytesPerRow * size.height, connection: connection))
        }
        self.buffers = buffers
        let tiles = BlockSet(size, side: BlockSet.tile)
        let widest = format.bytesPerRow(tiles.columns / 2 * BlockSet.tile)
        scratch =
            isShared && widest > 0
            ? try ImageBuffer(method, byteCount: widest * size.height, connection: connection) : nil
        current = Array(repeating: 0, count: tiles.rows)
    }

    /// Finds a few pieces that cover all tiles of a set. They cover more tiles if that is cheaper.
    ///
    /// - Parameter pieces: set to the pieces.
    func findPieces(covering suspects: BlockSet, _ pieces: inout [Piece]) {
        pieces.removeAll(keepingCapacity: true)
        var scratchBytes = 0
        for row in 0..<suspects.rows {
            let bounds = suspects.columnBounds(ofRow: row)
            if bounds.isEmpty { continue }
            let isBand = bounds.count * 2 > suspects.columns && scratch != nil || suspects.columns == 1
            let columns = isBand && buffers.count > 1 ? 0..<suspects.columns : bounds
            let place: Piece.Place =
                buffers.count == 1 ? .answer : isBand ? .buffer(1 - current[row]) : .scratch(scratchBytes)
            if case .scratch = place {
                let area = suspects.pixels(columns: columns, rows: row..<row + 1)
                scratchBytes += format.bytesPerRow(area.width) * area.height
            }
            if let last = pieces.last, last.continues(in: row, columns, place) {
                pieces[pieces.count - 1].extendByRow()
            } else {
                pieces.append(Piece(columns: columns, rows: row..<row + 1, place: place))
            }
        }
    }

    /// The place of a piece for the server: its name of the memory, and the offset in it in bytes.
    func destination(of piece: Piece) -> (segment: xcb_shm_seg_t, offset: Int)? {
        switch piece.place {
        case .buffer(let index):
            buffers[index].segment.map { ($0, piece.rows.lowerBound * BlockSet.tile * bytesPerRow) }
        case .scratch(let offset): scratch?.segment.map { ($0, offset) }
        case .answer: nil
        }
    }

    /// Stores a grabbed piece, and adds the tiles that differ from the picture so far to `changed`.
    ///
    /// - Parameters:
    ///   - answer: the pixels, if the piece's place is the answer.
    ///   - isFirst: whether there was no picture so far. Then every tile is new.
    func store(_ piece: Piece, answer: UnsafeRawBufferPointer? = nil, isFirst: Bool, changed: inout BlockSet) {
        switch piece.place {
        case .buffer(let index):
            for row in piece.rows { takeBand(row, from: index, isFirst: isFirst, &changed) }
        case .scratch(let offset):
            guard let scratch else { return }
            takePacked(piece, UnsafeRawBufferPointer(rebasing: scratch.bytes[offset...]), isFirst: isFirst, &changed)
        case .answer:
            guard let answer else { return }
            takePacked(piece, answer, isFirst: isFirst, &changed)
        }
    }

    /// Lends the present pixels, beginning with a tile's first one.
    func withTile<Result>(column: Int, row: Int, _ body: (RawSpan) -> Result) -> Result {
        body(bytes(of: buffers[current[row]], column, row).bytes)
    }

    private func takeBand(_ row: Int, from index: Int, isFirst: Bool, _ changed: inout BlockSet) {
        let band = bytes(of: buffers[index], 0, row)
        compare(0..<changed.columns, row, with: band, stride: bytesPerRow, isFirst: isFirst, &changed)
        if !changed.columnBounds(ofRow: row).isEmpty { current[row] = index }
    }

    private func takePacked(
        _ piece: Piece,
        _ packed: UnsafeRawBufferPointer,
        isFirst: Bool,
        _ changed: inout BlockSet
    ) {
        let bytesPerPixel = format.pixelFormat.bytesPerPixel
        let tileBytes = BlockSet.tile * bytesPerPixel
        let stride = format.bytesPerRow(changed.pixels(columns: piece.columns, rows: piece.rows).width)
        for row in piece.rows {
            let start = (row - piece.rows.lowerBound) * BlockSet.tile * stride
            guard start < packed.count else { return }
            let tiles = UnsafeRawBufferPointer(rebasing: packed[start...])
            compare(piece.columns, row, with: tiles, stride: stride, isFirst: isFirst, &changed)
            changed.forEachRun(inRow: row) { run in
                let run = run.clamped(to: piece.columns)
                if run.isEmpty { return }
                let area = changed.pixels(columns: run, rows: row..<row + 1)
                let target = buffers[current[row]].bytes.baseAddress! + offset(run.lowerBound, row)
                let source = tiles.baseAddress! + (run.lowerBound - piece.columns.lowerBound) * tileBytes
                for line in 0..<area.height {
                    memcpy(target + line * bytesPerRow, source + line * stride, area.width * bytesPerPixel)
                }
            }
        }
    }

    /// Adds the tiles of a row that differ from the present pixels.
    private func compare(
        _ columns: Range<Int>,
        _ row: Int,
        with tiles: UnsafeRawBufferPointer,
        stride: Int,
        isFirst: Bool,
        _ changed: inout BlockSet
    ) {
        if isFirst { return changed.insert(columns: columns, rows: row..<row + 1) }
        changed.insertDifferences(
            bytes(of: buffers[current[row]], columns.lowerBound, row).bytes,
            stride: bytesPerRow,
            tiles.bytes,
            stride: stride,
            bytesPerPixel: format.pixelFormat.bytesPerPixel,
            columns: columns,
            row: row
        )
    }

    private func offset(_ column: Int, _ row: Int) -> Int {
        row * BlockSet.tile * bytesPerRow + column * BlockSet.tile * format.pixelFormat.bytesPerPixel
    }

    /// The bytes of a buffer, beginning with a tile's first pixel.
    private func bytes(of buffer: ImageBuffer, _ column: Int, _ row: Int) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: buffer.bytes[offset(column, row)...])
    }
}

extension HeldPicture.Piece {
    fileprivate func continues(in row: Int, _ columns: Range<Int>, _ place: Place) -> Bool {
        guard rows.upperBound == row, self.columns == columns else { return false }
        switch (self.place, place) {
        case (.buffer(let first), .buffer(let second)): return first == second
        case (.scratch, .scratch), (.answer, .answer): return true
        default: return false
        }
    }

    fileprivate mutating func extendByRow() { rows = rows.lowerBound..<rows.upperBound + 1 }
}
