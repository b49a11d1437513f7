import FrameBridge
import Media
import Time

/// Finds the tiles of a broadcast's picture that have changed by something else than the pointer. For one thread.
struct ChangeReader: ~Copyable {
    private var reader: FrameReader
    private var seen: FrameInfo?

    init(of reader: consuming FrameReader) { self.reader = reader }

    /// The changes since the last call, and when the latest of them was captured; nil for none, and for the first call.
    mutating func take() -> (TileChange, at: Instant)? {
        let before = seen
        var change: TileChange?
        let outcome = try? reader.read { frame in
            change = nil
            // Another capture process does not know what has changed since the last one.
            guard let before, frame.info.generation == before.generation || !frame.info.hasSize(of: before) else {
                return
            }
            var found = TileChange(columns: frame.tileColumns, rows: frame.tileRows)
            frame.forEachChange(after: before, countsPointer: false) { columns, row in
                for column in columns { found[column, row] = true }
            }
            change = found
        }
        guard case .frame(let info) = outcome else { return nil }
        seen = info
        guard let change, !change.isEmpty else { return nil }
        return (change, at: info.capturedAt)
    }
}

extension FrameInfo {
    fileprivate func hasSize(of other: FrameInfo) -> Bool { (width, height) == (other.width, other.height) }
}
