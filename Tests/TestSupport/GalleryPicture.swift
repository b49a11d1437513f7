import CPNG

/// A screen as people have it: one of the pictures in `Tests/Gallery`, or another PNG file.
package struct GalleryPicture: Sendable {
    package static let names = [
        "dashboard", "drawing", "editor-dark", "editor-light", "film", "game", "login", "map", "news", "pixels",
        "scripts", "slides", "spreadsheet", "terminal",
    ]

    package let width: Int
    package let height: Int
    /// Red, green and blue of each pixel, row after row without padding.
    package let rgb: [UInt8]

    /// - Parameter name: one of `names`.
    package init(named name: String) throws { try self.init(file: Self.path(of: name)) }

    package init(file path: String) throws {
        var image = png_image()
        image.version = png_uint_32(PNG_IMAGE_VERSION)
        guard png_image_begin_read_from_file(&image, path) != 0 else { throw Unreadable(path: path) }
        image.format = png_uint_32(oriel_png_rgb)
        (width, height) = (Int(image.width), Int(image.height))
        var rgb = [UInt8](repeating: 0, count: 3 * Int(image.width) * Int(image.height))
        guard png_image_finish_read(&image, nil, &rgb, 0, nil) != 0 else { throw Unreadable(path: path) }
        self.rgb = rgb
    }

    package static func path(of name: String) -> String { "\(TestPrograms.repository)/Tests/Gallery/\(name).png" }

    /// 0xRRGGBB.
    package func colour(_ x: Int, _ y: Int) -> UInt32 {
        let start = 3 * (y * width + x)
        return UInt32(rgb[start]) << 16 | UInt32(rgb[start + 1]) << 8 | UInt32(rgb[start + 2])
    }

    package struct Unreadable: Error, CustomStringConvertible {
        let path: String

        package var description: String { "cannot read \(path) as PNG" }
    }
}
