internal import CYUV
import Glibc

/// A picture as decoders show it: planes of Y, U and V without padding. U and V are half as wide and high.
package struct PlanarPicture: Equatable, Sendable {
    /// The starts of the planes, and the bytes from row to row of each.
    ///
    /// Invariant: the planes are as large as the picture that is copied from them. The caller of the initializer
    /// ensures it.
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
        resize(to: size)
        copy(PixelRect(size), from: source)
    }

    private mutating func resize(to size: PixelSize) {
        if self.size == size { return }
        self.size = size
        y = Array(repeating: 0, count: size.width * size.height)
        u = Array(repeating: 0, count: y.count / 4)
        v = u
    }

    /// Becomes a picture of even size. `fill` writes its planes one after the other.
    package mutating func read(_ size: PixelSize, _ fill: (UnsafeMutableRawBufferPointer) -> Void) {
        resize(to: size)
        y.withUnsafeMutableBytes(fill)
        u.withUnsafeMutableBytes(fill)
        v.withUnsafeMutableBytes(fill)
    }

    /// Copies a part of a picture of the same size.
    ///
    /// - Parameter region: even, within the picture.
    package mutating func copy(_ region: PixelRect, from source: Source) {
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

extension PlanarPicture {
    /// Becomes a copy of a picture whose chroma is interleaved.
    package mutating func copy(_ picture: borrowing NV12Picture) {
        resize(to: picture.size)
        let (source, width) = (picture.planes, Int32(size.width))
        NV12ToI420(
            source.luma.start,
            Int32(source.luma.stride),
            source.chroma.start,
            Int32(source.chroma.stride),
            &y,
            width,
            &u,
            width / 2,
            &v,
            width / 2,
            width,
            Int32(size.height)
        )
    }

    /// Becomes black, in the size that it has.
    package mutating func fillBlack() {
        y = Array(repeating: 16, count: y.count)
        u = Array(repeating: 128, count: u.count)
        v = u
    }
}

extension NV12Picture {
    /// Becomes a copy of a picture of the same size with planes for each component.
    package mutating func copy(_ picture: PlanarPicture) {
        precondition(picture.size == size)
        let width = size.width
        picture.y.withUnsafeBufferPointer { y in
            picture.u.withUnsafeBufferPointer { u in
                picture.v.withUnsafeBufferPointer { v in
                    guard let y = y.baseAddress, let u = u.baseAddress, let v = v.baseAddress else { return }
                    copy(PlanarPicture.Source(y, u, v, strides: (width, width / 2, width / 2)))
                }
            }
        }
    }

    /// Becomes a copy of a picture of the same size with planes for each component.
    package mutating func copy(_ source: PlanarPicture.Source) {
        let target = mutablePlanes
        I420ToNV12(
            source.y,
            Int32(source.strides.y),
            source.u,
            Int32(source.strides.u),
            source.v,
            Int32(source.strides.v),
            target.luma.start,
            Int32(target.luma.stride),
            target.chroma.start,
            Int32(target.chroma.stride),
            Int32(size.width),
            Int32(size.height)
        )
    }
}
