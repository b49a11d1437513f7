/// A width and a height in pixels, neither negative.
package struct PixelSize: Equatable, Hashable, Sendable {
    package var width: Int
    package var height: Int

    package init(width: Int, height: Int) {
        precondition(width >= 0 && height >= 0, "a size is never negative")
        self.width = width
        self.height = height
    }

    package var isEmpty: Bool { width == 0 || height == 0 }

    package var isEven: Bool { width % 2 == 0 && height % 2 == 0 }

    /// The smallest even size that holds this one.
    package var roundedUpToEven: PixelSize { PixelSize(width: width + width % 2, height: height + height % 2) }

    /// The size in chroma samples of a picture of this size in pixels; even.
    var halved: PixelSize { PixelSize(width: width / 2, height: height / 2) }
}

extension PixelSize: CustomStringConvertible {
    package var description: String { "\(width)x\(height)" }
}
