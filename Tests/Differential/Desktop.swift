import Glibc
import Pixels
import TestSupport

/// A screen with windows, on which somebody works; the same for the same random numbers.
struct Desktop: ~Copyable {
    private(set) var picture: NV12Picture
    /// Tiles that were drawn since they were taken last.
    private var drawn: BlockSet
    private var windows: [DesktopWindow] = []
    private var pointer = PixelRect(x: 0, y: 0, width: 12, height: 18)
    private var wallpaper: Int32
    private var isRolling = false
    /// Two rows of chroma, of which the mean is shown.
    private let pairs: UnsafeMutableRawPointer

    init(_ size: PixelSize, _ random: inout SplitMix) {
        picture = NV12Picture(size: size)
        drawn = BlockSet(size, side: BlockSet.tile)
        wallpaper = .random(in: 16...235, using: &random)
        pairs = .allocate(byteCount: 2 * size.width, alignment: 16)
        for index in 0..<Int.random(in: 1...3, using: &random) {
            // The first one is large.
            let share = index == 0 ? 2...2 : 1...2
            let width = max(16, size.width * Int.random(in: share, using: &random) / 2 & ~1)
            let height = max(16, size.height * Int.random(in: share, using: &random) / 2)
            let isFilm = index > 0 && Int.random(in: 0..<3, using: &random) == 0
            let frame = PixelRect(
                x: .random(in: -8...max(0, size.width - width), using: &random) & ~1,
                y: .random(in: -8...max(0, size.height - height), using: &random),
                width: width,
                height: height
            )
            windows.append(DesktopWindow(frame, isFilm: isFilm, &random))
        }
        draw(PixelRect(size))
    }

    deinit { pairs.deallocate() }

    var size: PixelSize { picture.size }

    /// What was drawn since it was taken last.
    mutating func takeDrawn() -> BlockSet {
        defer { drawn.removeAll() }
        return drawn
    }

    /// Somebody does something.
    mutating func work(_ random: inout SplitMix) {
        let index = Int.random(in: 0..<windows.count, using: &random)
        switch Int.random(in: 0..<20, using: &random) {
        case 0..<8: scroll(index, &random)
        case 8:
            for index in windows.indices { scroll(index, &random) }
        case 9..<12: draw(windows[index].type(&random))
        case 12:
            windows[index].tint(&random)
            draw(windows[index].frame)
        case 13..<16: movePointer(&random)
        case 16:
            windows[index].turnPage(&random)
            draw(windows[index].frame)
        case 17: moveWindow(index, &random)
        case 18:
            windows.swapAt(index, windows.count - 1)
            draw(windows[windows.count - 1].frame)
        default:
            isRolling.toggle()
        }
        guard isRolling else { return }
        for index in windows.indices where windows[index].isFilm {
            windows[index].roll(&random)
            draw(windows[index].frame)
        }
    }

    /// By a few rows, a page, or any number.
    private mutating func scroll(_ index: Int, _ random: inout SplitMix) {
        if windows[index].isFilm { return }
        let height = windows[index].frame.height
        let most =
            switch Int.random(in: 0..<8, using: &random) {
            case 0..<3: 40
            case 3..<6: height
            case 6: 600
            default: 3 * height
            }
        windows[index].scroll(by: .random(in: -most...most, using: &random))
        draw(windows[index].frame)
    }

    private mutating func movePointer(_ random: inout SplitMix) {
        let before = pointer
        pointer.x = .random(in: 0..<size.width, using: &random)
        pointer.y = .random(in: 0..<size.height, using: &random)
        draw(before)
        draw(pointer)
    }

    private mutating func moveWindow(_ index: Int, _ random: inout SplitMix) {
        let before = windows[index].frame
        windows[index].move(
            toX: (before.x + .random(in: -40...40, using: &random)) & ~1,
            y: before.y + .random(in: -40...40, using: &random)
        )
        // Not so far that nothing of it is left.
        if PixelRect(size).intersection(windows[index].frame) == nil { windows[index].move(toX: before.x, y: before.y) }
        draw(before)
        draw(windows[index].frame)
    }

    /// Draws a part of the screen anew.
    private mutating func draw(_ part: PixelRect) {
        guard let part = part.expandedToEven.intersection(PixelRect(size)) else { return }
        drawn.insert(part)
        let columns = part.x..<part.x + part.width
        let (layout, pairs, pointer) = (picture.layout, pairs, pointer)
        picture.withMutablePlanes { luma, chroma in
            luma.withUnsafeMutableBytes { luma in
                chroma.withUnsafeMutableBytes { chroma in
                    for row in part.y..<part.y + part.height {
                        let line = luma.baseAddress! + row * layout.lumaStride
                        let colours = pairs + row % 2 * layout.size.width
                        memset(line + part.x, wallpaper, part.width)
                        fillChroma(colours + part.x, part.width, u: 112, v: 138)
                        for window in windows { window.paint(row, columns, luma: line, chroma: colours) }
                        if pointer.y..<pointer.y + pointer.height ~= row {
                            let arrow = columns.clamped(to: pointer.x..<pointer.x + 1 + (row - pointer.y) / 2)
                            if !arrow.isEmpty { memset(line + arrow.lowerBound, 16, arrow.count) }
                        }
                        if row % 2 == 1 {
                            let target = chroma.baseAddress! + row / 2 * layout.chromaStride + part.x
                            Self.mix(pairs + part.x, colours + part.x, part.width, into: target)
                        }
                    }
                }
            }
        }
    }

    /// The mean of two rows.
    private static func mix(
        _ first: UnsafeMutableRawPointer,
        _ second: UnsafeMutableRawPointer,
        _ count: Int,
        into target: UnsafeMutableRawPointer
    ) {
        if memcmp(first, second, count) == 0 {
            memcpy(target, first, count)
            return
        }
        for index in 0..<count {
            let sum =
                Int(first.load(fromByteOffset: index, as: UInt8.self))
                + Int(second.load(fromByteOffset: index, as: UInt8.self))
            target.storeBytes(of: UInt8((sum + 1) / 2), toByteOffset: index, as: UInt8.self)
        }
    }
}

/// Fills a row of interleaved chroma.
///
/// - Parameter count: in bytes, even.
func fillChroma(_ row: UnsafeMutableRawPointer, _ count: Int, u: UInt8, v: UInt8) {
    let pair = UInt16(u) | UInt16(v) << 8
    for offset in stride(from: 0, to: count & ~1, by: 2) {
        row.storeBytes(of: pair.littleEndian, toByteOffset: offset, as: UInt16.self)
    }
}
