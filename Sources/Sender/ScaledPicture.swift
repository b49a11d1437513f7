import Pixels

/// A picture of the stream's size, with what it takes to fill it from frames of any size.
struct ScaledPicture: ~Copyable {
    private(set) var nv12: NV12Picture
    private let size: PixelSize
    private var rescaler: Rescaler?

    /// Black.
    init(size: PixelSize) {
        self.size = size
        nv12 = NV12Picture(size: size)
        nv12.fillBlack()
    }

    /// Rescales a frame into the picture, with black bars where its shape is another one.
    mutating func take(luma: RawSpan, chroma: RawSpan, layout: NV12Layout) {
        if rescaler?.input != layout.size {
            rescaler = Rescaler(from: layout.size, to: size)
            nv12.fillBlack()
        }
        rescaler?.rescale(luma: luma, chroma: chroma, layout: layout, into: &nv12)
    }
}
