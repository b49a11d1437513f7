/// The planes of a picture of whole macroblocks, as VP8 decoders keep it.
final class PlaneMemory {
    let planes: PatchEncoder.Planes

    init(columns: Int, rows: Int) {
        let (width, height) = (columns * 16, rows * 16)
        let y = UnsafeMutablePointer<UInt8>.allocate(capacity: width * height * 3 / 2)
        y.initialize(repeating: 0, count: width * height * 3 / 2)
        let u = y + width * height
        planes = PatchEncoder.Planes(
            pointers: (y, u, u + width * height / 4),
            strides: (width, width / 2, width / 2)
        )
    }

    deinit { planes.pointers.y.deallocate() }
}
