import CPNG
package import Helpers
package import Pixels
import Posix

/// Writes pictures as PNG, by libpng's simplified interface.
package enum PNGFile {
    /// - Parameters:
    ///   - rgb: `size.width * size.height` pixels of three bytes.
    ///   - path: replaced in one step if it is there.
    package static func write(rgb: [UInt8], size: PixelSize, to path: String) throws {
        let bytes = try bytes(rgb: rgb, size: size)
        try OutputFile.replace(path) { file in try file.writeAll(bytes) }
    }

    package static func bytes(rgb: [UInt8], size: PixelSize) throws(Failure) -> [UInt8] {
        precondition(rgb.count >= size.width * size.height * 3)
        var image = png_image()
        image.version = png_uint_32(PNG_IMAGE_VERSION)
        image.width = png_uint_32(size.width)
        image.height = png_uint_32(size.height)
        image.format = png_uint_32(oriel_png_rgb)
        var length = oriel_png_longest(image)
        var bytes = [UInt8](repeating: 0, count: length)
        guard png_image_write_to_memory(&image, &bytes, &length, 0, rgb, 0, nil) != 0 else {
            let reason = withUnsafeBytes(of: image.message) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
            throw Failure(.failed, "cannot make a picture (\(reason))")
        }
        bytes.removeLast(bytes.count - length)
        return bytes
    }
}
