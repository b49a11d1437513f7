import Glibc
import TestSupport

/// Red, green and blue of a picture, row after row without padding.
struct RGBPicture {
    let width: Int
    let height: Int
    let bytes: [UInt8]

    init(width: Int, height: Int, bytes: [UInt8]) { (self.width, self.height, self.bytes) = (width, height, bytes) }

    /// A PNG file of a size.
    init(file path: String, width: Int, height: Int) throws {
        self.init(width: width, height: height, bytes: try pixels(ofPicture: path))
    }

    func cropped(to columns: Range<Int>) -> RGBPicture {
        let rows = (0..<height).map { row in
            bytes[3 * (row * width + columns.lowerBound)..<3 * (row * width + columns.upperBound)]
        }
        return RGBPicture(width: columns.count, height: height, bytes: Array(rows.joined()))
    }

    func channel(_ channel: Int, _ x: Int, _ y: Int) -> Int { Int(bytes[3 * (y * width + x) + channel]) }
}

/// What the workload `chart` says of the colours on the screen, and how far a picture is from them.
struct ColourChart {
    struct Area {
        let x: Int, y: Int, width: Int, height: Int
    }

    /// Areas of one colour, 0xRRGGBB. Where they overlap, the later one is seen.
    private(set) var flats: [(area: Area, colour: Int)] = []
    /// Areas whose colour goes from one to the other, from left to right.
    private(set) var ramps: [(area: Area, from: Int, to: Int)] = []
    let beat: Int
    private static let macroblock = 16

    /// The latest of what a workload has printed; nil before it has printed one whole.
    init?(_ workload: Subprocess) {
        let lines = workload.outputLines
        guard let end = lines.lastIndex(where: { $0.hasPrefix("beat ") }), let beat = Int(lines[end].dropFirst(5))
        else {
            return nil
        }
        self.beat = beat
        let start = lines[..<end].lastIndex { $0.hasPrefix("beat ") }.map { $0 + 1 } ?? lines.startIndex
        for line in lines[start..<end] {
            let words = line.split(separator: " ")
            let numbers = words[1...4].map { Int($0)! }
            let area = Area(x: numbers[0], y: numbers[1], width: numbers[2], height: numbers[3])
            let colours = words[5...].map { Int($0, radix: 16)! }
            if words[0] == "ramp" {
                ramps.append((area, colours[0], colours[1]))
            } else {
                flats.append((area, colours[0]))
            }
        }
    }

    /// What is seen of it in a part of the screen that fills a picture, so many times as large. A ramp that is cut is left out.
    func magnified(x: Int, y: Int, width: Int, height: Int, by factor: Int) -> ColourChart {
        func seen(_ area: Area) -> Area? {
            let (left, top) = (max(area.x, x), max(area.y, y))
            let (right, bottom) = (min(area.x + area.width, x + width), min(area.y + area.height, y + height))
            guard left < right, top < bottom else { return nil }
            return Area(
                x: (left - x) * factor,
                y: (top - y) * factor,
                width: (right - left) * factor,
                height: (bottom - top) * factor
            )
        }
        var part = self
        part.flats = flats.compactMap { flat in seen(flat.area).map { ($0, flat.colour) } }
        part.ramps = ramps.compactMap { ramp in
            guard x <= ramp.area.x, ramp.area.x + ramp.area.width <= x + width else { return nil }
            return seen(ramp.area).flatMap { $0.height >= 16 ? ($0, ramp.from, ramp.to) : nil }
        }
        return part
    }

    /// How far a picture is from the flat areas, of 255, in the channel that is farthest.
    struct Distance: CustomStringConvertible {
        /// Of an area's mean colour, at the most.
        fileprivate(set) var area = 0.0
        /// Of a pixel, at the most.
        fileprivate(set) var pixel = 0
        private var places = (area: "nothing off", pixel: "nothing off")

        var description: String { "\(places.area); \(places.pixel)" }

        fileprivate mutating func note(area: Double, pixel: Int, _ place: @autoclosure () -> String) {
            if area > self.area { places.area = place() }
            if pixel > self.pixel { places.pixel = place() }
            self.area = max(self.area, area)
            self.pixel = max(self.pixel, pixel)
        }
    }

    /// A macroblock in which two colours meet is coarser, so the outermost 16 pixels of each area count only at an edge of the
    /// picture.
    func distance(of picture: RGBPicture) -> Distance {
        var distance = Distance()
        for (index, (area, colour)) in flats.enumerated() {
            let columns = Self.inner(area.x, area.width, of: picture.width)
            let rows = Self.inner(area.y, area.height, of: picture.height)
            let above = flats[(index + 1)...].map(\.area)
            for channel in 0..<3 {
                let wanted = colour >> (16 - 8 * channel) & 255
                var (sum, count, worst) = (0, 0, (off: 0, x: 0, y: 0))
                for y in rows {
                    for x in columns where !above.contains(where: { Self.touches($0, x, y) }) {
                        let off = picture.channel(channel, x, y) - wanted
                        (sum, count) = (sum + off, count + 1)
                        if abs(off) > worst.off { worst = (abs(off), x, y) }
                    }
                }
                guard count > 0 else { continue }
                let mean = abs(Double(sum)) / Double(count)
                distance.note(
                    area: mean,
                    pixel: worst.off,
                    "\(worst) and \(mean) in all of \(String(colour, radix: 16))"
                )
            }
        }
        return distance
    }

    /// Of each ramp and channel the peak signal-to-noise ratio in dB; the least of them.
    func worstRamp(_ picture: RGBPicture) -> Double {
        var worst = 99.0
        for (area, from, to) in ramps {
            let (columns, rows) = (area.x + 4..<area.x + area.width - 4, area.y + 4..<area.y + area.height - 4)
            for channel in 0..<3 {
                let (first, last) = (from >> (16 - 8 * channel) & 255, to >> (16 - 8 * channel) & 255)
                var squares = 0.0
                for y in rows {
                    for x in columns {
                        let wanted =
                            Double(first) + Double((last - first) * (x - area.x)) / Double(area.width - 1)
                        let difference = Double(picture.channel(channel, x, y)) - wanted
                        squares += difference * difference
                    }
                }
                let mean = squares / Double(columns.count * rows.count)
                if mean > 0 { worst = min(worst, 10 * log10(255 * 255 / mean)) }
            }
        }
        return worst
    }

    /// A macroblock less at each end that is inside of the picture, or the outer half of a strip at its edge.
    private static func inner(_ start: Int, _ length: Int, of whole: Int) -> Range<Int> {
        let (end, margin) = (start + length, min(macroblock, length / 2))
        return (start == 0 ? 0 : start + margin)..<(end == whole ? whole : end - margin)
    }

    private static func touches(_ area: Area, _ x: Int, _ y: Int) -> Bool {
        area.x - macroblock..<area.x + area.width + macroblock ~= x
            && area.y - macroblock..<area.y + area.height + macroblock ~= y
    }
}
