import Glibc
import Posix
import TestSupport

/// A file of YUV4MPEG2 as a test sees it, read without Oriel's own reader.
struct RenderedPictures {
    let width: Int
    let height: Int
    let count: Int
    /// Of the middle of the last picture.
    let middle: (y: UInt8, u: UInt8, v: UInt8)

    /// Nil unless there is a whole picture.
    init?(_ path: String) throws {
        guard access(path, R_OK) == 0 else { return nil }
        let file = try FileDescriptor.open(path, O_RDONLY)
        let size = Int(try file.status().st_size)
        let start = try file.readBytes(256)
        guard let end = start.firstIndex(of: 0x0A) else { return nil }
        let words = String(decoding: start[..<end], as: UTF8.self).split(separator: " ")
        guard words.first == "YUV4MPEG2", words.contains("C420mpeg2"),
            let width = words.first(where: { $0.hasPrefix("W") }).flatMap({ Int($0.dropFirst()) }),
            let height = words.first(where: { $0.hasPrefix("H") }).flatMap({ Int($0.dropFirst()) })
        else { throw Unexpected("no header: \(words)") }
        let bytes = 6 + width * height * 3 / 2
        count = (size - end - 1) / bytes
        guard count > 0 else { return nil }
        let last = try file.readBytes(bytes, at: end + 1 + (count - 1) * bytes)
        guard last.starts(with: Array("FRAME\n".utf8)) else { throw Unexpected("no picture") }
        let (luma, chroma) = (6 + height / 2 * width + width / 2, height / 4 * (width / 2) + width / 4)
        let u = 6 + width * height + chroma
        middle = (last[luma], last[u], last[u + width * height / 4])
        (self.width, self.height) = (width, height)
    }

    /// Whether the middle is of about a colour of BT.709 or BT.601, limited range, or as Chromium sends it, of BT.709, full range.
    func shows(_ colour: Colour) -> Bool {
        colour.values.contains { y, u, v in
            abs(Int(middle.y) - y) < 12 && abs(Int(middle.u) - u) < 12 && abs(Int(middle.v) - v) < 12
        }
    }

    enum Colour: String {
        case red, green, blue

        fileprivate var values: [(Int, Int, Int)] {
            switch self {
            case .red: [(63, 102, 240), (82, 90, 240), (54, 99, 255)]
            case .green: [(173, 42, 26), (145, 54, 34), (182, 30, 12)]
            case .blue: [(32, 240, 118), (41, 240, 110), (18, 255, 116)]
            }
        }
    }
}

extension XServer {
    /// Fills the screen.
    func fill(_ colour: RenderedPictures.Colour) throws {
        // X11's green is #00ff00, unlike that of pages.
        try Subprocess.run(["xsetroot", "-solid", colour.rawValue], environment: environment)
    }

    /// The red, green and blue of a pixel of the screen, as ffmpeg grabs it.
    func pixel(x: Int, y: Int, in folder: TemporaryDirectory) throws -> (UInt8, UInt8, UInt8) {
        let raw = folder.file("grab.rgb")
        let input = ["-f", "x11grab", "-draw_mouse", "0", "-video_size", "2x2", "-i", "\(display)+\(x),\(y)"]
        try Subprocess.run(
            ["ffmpeg", "-nostdin", "-y", "-v", "error"] + input
                + ["-frames:v", "1", "-f", "rawvideo", "-pix_fmt", "rgb24", raw]
        )
        let bytes = try contents(of: raw)
        return (bytes[0], bytes[1], bytes[2])
    }
}
