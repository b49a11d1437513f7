package import Pixels

/// The header of a stream of YUV4MPEG2 (yuv4mpeg(5)) from this program: a line. Each picture then has the line `FRAME`
/// and its planes Y, U and V.
package struct Y4MHeader: Equatable, Sendable {
    /// The line before each picture.
    package static let frame = Array("FRAME\n".utf8)
    /// The most bytes of a line.
    package static let longest = 256
    /// Widths and heights in pixels.
    package static let sides = 2...4096

    /// Both even and within `sides`.
    package let size: PixelSize

    package init(size: PixelSize) { self.size = size }

    /// The line. Pictures have no time of their own: players use the rate.
    package var bytes: [UInt8] {
        Array(
            "YUV4MPEG2 W\(size.width) H\(size.height) F30:1 Ip A1:1 C420mpeg2 XYSCSS=420MPEG2 XCOLORRANGE=LIMITED\n"
                .utf8
        )
    }

    /// Nil for any other line, or for pictures that this program does not write.
    ///
    /// - Parameter line: without its end.
    package init?(parsing line: String) {
        let words = line.split(separator: " ")
        func side(_ mark: Character) -> Int? {
            words.first { $0.first == mark }.flatMap { Int($0.dropFirst()) }
        }
        guard words.first == "YUV4MPEG2", let width = side("W"), let height = side("H"), Self.sides ~= width,
            Self.sides ~= height, width % 2 == 0, height % 2 == 0, words.contains("C420mpeg2")
        else { return nil }
        size = PixelSize(width: width, height: height)
    }
}
