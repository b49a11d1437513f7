import CPNG
import Glibc
import Pixels
import Posix

/// Writes pictures as PNG, by libpng's simplified interface.
enum PNGFile {
    /// - Parameters:
    ///   - rgb: `size.width * size.height` pixels of three bytes.
    ///   - path: replaced in one step if it is there.
    static func write(rgb: [UInt8], size: PixelSize, to path: String) throws {
        precondition(rgb.count >= size.width * size.height * 3)
        var image = png_image()
        image.version = png_uint_32(PNG_IMAGE_VERSION)
        image.width = png_uint_32(size.width)
        image.height = png_uint_32(size.height)
        image.format = png_uint_32(oriel_png_rgb)
        do {
            try OutputFile.replace(path) { target in
                if png_image_write_to_file(&image, target, 0, rgb, 0, nil) == 0 {
                    throw OutputFile.failure(path, message(of: image))
                }
            }
        } catch let error as SystemError {
            throw OutputFile.failure(path, error.reason)
        }
    }

    private static func message(of image: png_image) -> String {
        withUnsafeBytes(of: image.message) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }
}
