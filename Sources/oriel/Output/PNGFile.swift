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
        var image = image(rgb, size)
        try OutputFile.replace(path) { file in
            let raw = file.raw
            guard let stream = fdopen(try check("dup") { fcntl(raw, F_DUPFD_CLOEXEC, 3) }, "wb") else {
                throw SystemError("fdopen")
            }
            let isWritten = png_image_write_to_stdio(&image, stream, 0, rgb, 0, nil) != 0
            // The last bytes leave its buffer now.
            let isClosed = fclose(stream) == 0
            guard isWritten else { throw OutputFile.failure(path, message(of: image)) }
            guard isClosed else { throw SystemError("fclose") }
        }
    }

    /// The bytes of such a file.
    static func bytes(rgb: [UInt8], size: PixelSize) throws(Failure) -> [UInt8] {
        var image = image(rgb, size)
        var length = 0
        // The first call only tells the length.
        guard png_image_write_to_memory(&image, nil, &length, 0, rgb, 0, nil) != 0 else {
            throw Failure(.failed, "cannot make a picture (\(message(of: image)))")
        }
        var bytes = [UInt8](repeating: 0, count: length)
        guard png_image_write_to_memory(&image, &bytes, &length, 0, rgb, 0, nil) != 0 else {
            throw Failure(.failed, "cannot make a picture (\(message(of: image)))")
        }
        bytes.removeLast(bytes.count - length)
        return bytes
    }

    private static func image(_ rgb: [UInt8], _ size: PixelSize) -> png_image {
        precondition(rgb.count >= size.width * size.height * 3)
        var image = png_image()
        image.version = png_uint_32(PNG_IMAGE_VERSION)
        image.width = png_uint_32(size.width)
        image.height = png_uint_32(size.height)
        image.format = png_uint_32(oriel_png_rgb)
        return image
    }

    private static func message(of image: png_image) -> String {
        withUnsafeBytes(of: image.message) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }
}
