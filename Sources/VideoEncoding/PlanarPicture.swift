import Glibc
package import Pixels

/// A picture as decoders show it: planes of Y, U and V without padding, the latter two half as wide and high.
package struct PlanarPicture: Sendable {
    /// Where the planes begin, and the bytes from row to row of each.
    ///
    /// Invariant: whoever makes one knows that the planes are as large as the picture that is copied from them.
    package struct Source {
        let y: UnsafePointer<UInt8>, u: UnsafePointer<UInt8>, v: UnsafePointer<UInt8>
        let strides: (y: Int, u: Int, v: Int)

        package init(
            _ y: UnsafePointer<UInt8>,
            _ u: UnsafePointer<UInt8>,
            _ v: UnsafePointer<UInt8>,
            strides: (y: Int, u: Int, v: Int)
        ) {
            (self.y, self.u, self.v) = (y, u, v)
            self.strides = strides
        }
    }

    package private(set) var size = PixelSize(width: 0, height: 0)
    package private(set) var y: [UInt8] = []
    package private(set) var u: [UInt8] = []
    package private(set) var v: [UInt8] = []

    package init() {}

    /// Becomes a copy of a picture of even size.
    package mutating func copy(_ source: Source, size: PixelSize) {
        if self.size != size {
            self.size = size
            y = Array(repeating: 0, count: size.width * size.height)
            u = Array(repeating: 0, count: y.count / 4)
            v = u
        }
        copy(PixelRect(size), from: source)
    }

    /// Takes over a part of a picture of the same size.
    ///
    /// - Parameter region: even, within the picture.
    mutating func copy(_ region: PixelRect, from source: Source) {
        let half = PixelRect(x: region.x / 2, y: region.y / 2, width: region.width / 2, height: region.height / 2)
        Self.copy(region, source.y, source.strides.y, into: &y, size.width)
        Self.copy(half, source.u, source.strides.u, into: &u, size.width / 2)
        Self.copy(half, source.v, source.strides.v, into: &v, size.width / 2)
    }

    private static func copy(
        _ region: PixelRect,
        _ source: UnsafePointer<UInt8>,
        _ sourceStride: Int,
        into plane: inout [UInt8],
        _ stride: Int
    ) {
        plane.withUnsafeMutableBytes { plane in
            for row in region.y..<region.y + region.height {
                let line = source + row * sourceStride + region.x
                memcpy(plane.baseAddress! + row * stride + region.x, line, region.width)
            }
        }
    }
}

extension PlanarPicture: Equatable {
    package static func == (first: PlanarPicture, second: PlanarPicture) -> Bool {
        func equal(_ first: [UInt8], _ second: [UInt8]) -> Bool {
            first.withUnsafeBytes { first in
                second.withUnsafeBytes { memcmp(first.baseAddress!, $0.baseAddress!, first.count) == 0 }
            }
        }
        guard first.size == second.size else { return false }
        return first.y.isEmpty || equal(first.y, second.y) && equal(first.u, second.u) && equal(first.v, second.v)
    }
}
