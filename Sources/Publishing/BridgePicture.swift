package import FrameBridge
import Helpers
package import Pixels
package import Time

/// The latest picture of a broadcast as RGB pixels of three bytes.
package struct BridgePicture {
    package let rgb: [UInt8]
    package let size: PixelSize
    /// Nanoseconds of CLOCK_MONOTONIC.
    package let capturedAt: Instant

    /// - Parameter viewport: the part that is shown, with even edges; nil for the whole.
    /// - Throws: a `Failure` to try again if there is no picture.
    package init(_ reader: inout FrameReader, in path: String, viewport: PixelRect? = nil) throws {
        var size = PixelSize(width: 0, height: 0)
        var rgb: [UInt8] = []
        let outcome = try reader.read { frame in
            let whole = PixelRect(PixelSize(width: frame.info.width, height: frame.info.height))
            let part = viewport.flatMap { whole.intersection($0) } ?? whole
            size = part.size
            let layout = NV12Layout(size: size, lumaStride: frame.lumaStride, chromaStride: frame.chromaStride)
            rgb = rgbBytes(
                luma: frame.luma.extracting(layout.lumaOffset(x: part.x, y: part.y)...),
                chroma: frame.chroma.extracting(layout.chromaOffset(x: part.x, y: part.y)...),
                layout: layout
            )
        }
        guard case .frame(let info) = outcome else {
            throw Failure(.tryAgain, "there is no picture in \(path) yet: try again")
        }
        self.rgb = rgb
        self.size = size
        capturedAt = info.capturedAt
    }
}
