import FrameBridge

/// The picture that stands for a paused screen: the word in the middle of a dark field, large enough to read in a
/// thumbnail.
enum Placard {
    /// Rows of 5x7 letters, the highest of five bits on the left.
    private static let glyphs: [[UInt8]] = [
        [0b11110, 0b10001, 0b10001, 0b11110, 0b10000, 0b10000, 0b10000],  // P
        [0b01110, 0b10001, 0b10001, 0b11111, 0b10001, 0b10001, 0b10001],  // A
        [0b10001, 0b10001, 0b10001, 0b10001, 0b10001, 0b10001, 0b01110],  // U
        [0b01111, 0b10000, 0b10000, 0b01110, 0b00001, 0b00001, 0b11110],  // S
        [0b11111, 0b10000, 0b10000, 0b11110, 0b10000, 0b10000, 0b11111],  // E
        [0b11110, 0b10001, 0b10001, 0b10001, 0b10001, 0b10001, 0b11110],  // D
    ]
    private static let columns = glyphs.count * 6 - 1
    private static let rows = 7

    private static let background: UInt8 = 40
    private static let ink: UInt8 = 200

    /// The luma of the pixel at `x`, `y` in a picture of this size.
    static func luma(x: Int, y: Int, width: Int, height: Int) -> UInt8 {
        let cell = max(1, min(width / (columns * 2), height / (rows * 3)))
        let (left, top) = ((width - columns * cell) / 2, (height - rows * cell) / 2)
        guard x >= left, y >= top else { return background }
        let (column, row) = ((x - left) / cell, (y - top) / cell)
        guard column < columns, row < rows, column % 6 < 5 else { return background }
        return glyphs[column / 6][row] >> (4 - column % 6) & 1 == 1 ? ink : background
    }
}

extension FramePlanes {
    /// Fills the whole picture with the placard; nothing of what was there stays.
    mutating func drawPlacard() {
        let (width, height, stride) = (width, height, stride)
        withPlanes { luma, chroma in
            for y in 0..<height {
                for x in 0..<stride {
                    luma.storeBytes(
                        of: Placard.luma(x: x, y: y, width: width, height: height),
                        toByteOffset: y * stride + x,
                        as: UInt8.self
                    )
                }
            }
            for offset in chroma.byteOffsets { chroma.storeBytes(of: 128, toByteOffset: offset, as: UInt8.self) }
        }
    }
}
