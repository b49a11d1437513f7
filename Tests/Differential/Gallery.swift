import Synchronization
import TestSupport

/// The screens of the gallery, each read once.
final class Gallery: Sendable {
    static let shared = Gallery()

    private let pictures = Mutex<[String: GalleryPicture]>([:])

    func picture(_ name: String) -> GalleryPicture {
        pictures.withLock { pictures in
            if let known = pictures[name] { return known }
            guard let picture = try? GalleryPicture(named: name) else {
                preconditionFailure("no \(name) in the gallery")
            }
            pictures[name] = picture
            return picture
        }
    }
}

/// A colour in BT.601 of limited range, from the definition (ITU-R BT.601-7, 2.5), by no kernel of Oriel's.
struct YUV {
    let y: Int, u: Int, v: Int

    /// - Parameter colour: 0xRRGGBB.
    init(_ colour: UInt32) {
        let (r, g, b) = (Int(colour >> 16 & 255), Int(colour >> 8 & 255), Int(colour & 255))
        // In thousandths, of 255.
        let luma = 299 * r + 587 * g + 114 * b
        y = 16 + (219 * luma + 127_500) / 255_000
        u = Self.chroma(1000 * b - luma, most: 886)
        v = Self.chroma(1000 * r - luma, most: 701)
    }

    /// - Parameter most: how far a channel can be from luma, in thousandths.
    private static func chroma(_ difference: Int, most: Int) -> Int {
        let divisor = 255 * most
        return (128 * divisor + 112 * difference + divisor / 2) / divisor
    }
}
