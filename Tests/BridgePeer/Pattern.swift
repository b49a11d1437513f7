import FrameBridge
import Glibc

/// Pictures of which every byte, and every tile's version, follow from the frame's number: a torn or stale one cannot pass.
enum Pattern: String {
    /// Every frame is one colour.
    case solid
    /// In each frame some tiles change, and each shows in which frame it did.
    case tiles

    private static let side = 64

    /// Whether a tile changes in a frame.
    private static func changes(_ tile: Int, in frame: UInt64) -> Bool {
        var z = (UInt64(tile) &+ 1) &* 0x9E37_79B9_7F4A_7C15 ^ frame &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ z >> 27) &* 0x94D0_49BB_1331_11EB
        return (z ^ z >> 31) % 5 == 0
    }

    private static func byte(_ tile: Int, _ version: UInt64) -> UInt8 {
        UInt8(truncatingIfNeeded: version &* 31 &+ UInt64(tile))
    }

    func info(_ width: Int, _ height: Int, number: UInt64) -> FrameInfo {
        let source = SourceRectangle(x: Int(number & 0xFFFF), y: width, width: width, height: height)
        return FrameInfo(width: width, height: height, capturedAt: now(), source: source)
    }

    /// - Parameter half: called when half of the picture is drawn.
    func draw(_ planes: inout FramePlanes, number: UInt64, half: () -> Void) {
        let (width, height, stride) = (planes.width, planes.height, planes.stride)
        switch self {
        case .solid:
            planes.withPlanes { luma, chroma in
                luma.withUnsafeMutableBytes { _ = memset($0.baseAddress!, Int32(number & 0xFF), $0.count) }
                half()
                chroma.withUnsafeMutableBytes { _ = memset($0.baseAddress!, Int32(number & 0xFF), $0.count) }
            }
        case .tiles:
            let isWhole = !planes.followsAnother
            if !isWhole { planes.keepAll() }
            let columns = (width + Self.side - 1) / Self.side
            for tile in 0..<columns * ((height + Self.side - 1) / Self.side) {
                guard isWhole || Self.changes(tile, in: number) else { continue }
                let (column, row) = (tile % columns, tile / columns)
                if !isWhole { planes.drawOnly(columns: column..<column + 1, row: row) }
                let byte = Self.byte(tile, number)
                planes.withPlanes { luma, chroma in
                    Self.fill(&luma, Self.rows(column, row, width, height, stride), byte)
                    Self.fill(&chroma, Self.rows(column, row, width, height / 2, stride, Self.side / 2), byte)
                }
            }
            half()
        }
    }

    /// What is wrong with a frame; nil when nothing is.
    func flaw(_ frame: borrowing Frame) -> String? {
        let info = frame.info
        guard info.source == self.info(info.width, info.height, number: info.number).source else { return "metadata" }
        switch self {
        case .solid:
            let byte = UInt8(truncatingIfNeeded: info.number)
            return Self.isUniform(frame.luma, byte) && Self.isUniform(frame.chroma, byte) ? nil : "pixels"
        case .tiles:
            let versions = frame.tileVersions
            for tile in versions.indices {
                let version = UInt64(versions[tile])
                guard 1...info.number ~= version else { return "version" }
                var later = version + 1
                while later <= info.number, !Self.changes(tile, in: later) { later += 1 }
                guard later > info.number else { return "stale version" }
                let (column, row) = (tile % frame.tileColumns, tile / frame.tileColumns)
                let byte = Self.byte(tile, version)
                let luma = Self.rows(column, row, info.width, info.height, frame.lumaStride)
                let chroma = Self.rows(column, row, info.width, info.height / 2, frame.chromaStride, Self.side / 2)
                guard Self.holds(frame.luma, luma, byte), Self.holds(frame.chroma, chroma, byte) else { return "tile" }
            }
            return nil
        }
    }

    private static func isUniform(_ plane: RawSpan, _ byte: UInt8) -> Bool {
        plane.withUnsafeBytes { bytes in
            bytes[0] == byte && memcmp(bytes.baseAddress!, bytes.baseAddress! + 1, bytes.count - 1) == 0
        }
    }

    /// The bytes of each row of a tile.
    private static func rows(
        _ column: Int,
        _ row: Int,
        _ width: Int,
        _ height: Int,
        _ stride: Int,
        _ rows: Int = side
    ) -> [Range<Int>] {
        (row * rows..<min((row + 1) * rows, height)).map { line in
            line * stride + column * side..<line * stride + min((column + 1) * side, width)
        }
    }

    private static func fill(_ plane: inout MutableRawSpan, _ ranges: [Range<Int>], _ byte: UInt8) {
        plane.withUnsafeMutableBytes { bytes in
            for range in ranges { memset(bytes.baseAddress! + range.lowerBound, Int32(byte), range.count) }
        }
    }

    private static func holds(_ plane: RawSpan, _ ranges: [Range<Int>], _ byte: UInt8) -> Bool {
        plane.withUnsafeBytes { bytes in ranges.allSatisfy { bytes[$0].allSatisfy { $0 == byte } } }
    }
}
