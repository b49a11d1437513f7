import Pixels

/// Medians of the pixel kernels at 1080p.
func kernelSections(_ options: RunOptions) -> [Section] {
    let size = PixelSize(width: 1920, height: 1080)
    let source = (0..<size.width * size.height * 4).map { UInt8(truncatingIfNeeded: $0 &* 2_654_435_761 >> 11) }
    let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: source.count, alignment: 64)
    defer { copy.deallocate() }

    var names = ["copy of the 8.3 MB"]
    var bodies: [() -> Void] = [{ source.withUnsafeBytes { copy.copyMemory(from: $0) } }]
    for (name, kernels) in [("portable", Kernels.portable), ("fastest", .fastest)] {
        let converter = NV12Converter(from: .bgrx, kernels: kernels)
        let picture = Picture(size: size)
        names.append("BGRX to NV12, \(name)")
        bodies.append { picture.convert(source, by: converter) }
    }
    for output in [PixelSize(width: 1280, height: 720), PixelSize(width: 960, height: 540)] {
        for (name, kernels) in [("portable", Kernels.portable), ("fastest", .fastest)] {
            let rescaler = Rescaler(from: size, to: output, kernels: kernels)
            let input = Picture(size: size)
            input.convert(source, by: NV12Converter(from: .bgrx))
            let picture = Picture(size: output)
            names.append("NV12 to \(output), \(name)")
            bodies.append { picture.rescale(input, by: rescaler) }
        }
    }
    let times = interleavedMilliseconds(turns: 20 * options.rounds, bodies)
    var table = Table(["1920x1080", "median ms", "of the copy"])
    for (name, time) in zip(names, times) {
        table.rows.append([name, time.text(2), (time / times[0]).text(2) + " ×"])
    }
    return [Section(title: "Kernels", table: table)]
}
